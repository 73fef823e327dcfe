// Log positions per shard that this client has seen, from its own writes and reads. Thread-safe.
//
// They are what other reads may ask for, and floors, too: a write is decided above all that was
// seen of its shard when it was made, and a read from a leader shows all of that. An answer below
// comes from a cluster that has lost what it had acknowledged.
#pragma once

#include "common/ids.h"
#include "gcoord/reads.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
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

  // The highest position of the shard, to hold an answer of later against.
  Position floor(std::uint32_t shard) const { return {shard, at(shard)}; }

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

// Evidence for an answer that is below what was seen.
inline std::string behind(const Position& floor, std::uint64_t index) {
  return "shard " + std::to_string(floor.shard) + " answers from index " + std::to_string(index) +
         ", this client has seen " + std::to_string(floor.index);
}

}  // namespace gcoord::client
