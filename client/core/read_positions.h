// Log positions per shard that this client has seen, from its own writes and reads. Thread-safe.
#pragma once

#include "common/ids.h"
#include "gcoord/reads.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace gcoord::client {

class ReadPositions {
 public:
  void learn(std::uint32_t shard, std::uint64_t index) {
    const std::lock_guard lock{mutex_};
    std::uint64_t& known = positions_[shard];
    known = std::max(known, index);
  }

  // 0: nothing is known.
  std::uint64_t at(std::uint32_t shard) const {
    const std::lock_guard lock{mutex_};
    const auto found = positions_.find(shard);
    return found == positions_.end() ? 0 : found->second;
  }

  std::vector<Position> all() const {
    const std::lock_guard lock{mutex_};
    std::vector<Position> positions;
    positions.reserve(positions_.size());
    for (const auto& [shard, index] : positions_) {
      positions.push_back({shard, index});
    }
    return positions;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::uint64_t> positions_;
};

}  // namespace gcoord::client
