// Map of moved names: locks that live in another shard than their name says, as far as this client
// knows.
//
// What it says may be of the past: the shard that is asked then says where the lock has gone. One
// thread.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

namespace gcoord::client {

// Names that are remembered: four megabytes. Above it all are asked after anew.
inline constexpr std::size_t kMovedNamesMax = 65'536;

class MovedNames {
 public:
  bool empty() const { return shards_.empty(); }

  std::optional<ShardId> find(NameHash name) const {
    const auto found = shards_.find({name.high, name.low});
    return found == shards_.end() ? std::nullopt : std::optional{found->second};
  }

  void learn(NameHash name, ShardId shard) {
    if (shards_.size() >= kMovedNamesMax) {
      shards_.clear();
    }
    shards_[{name.high, name.low}] = shard;
  }

  // It is where its name says.
  void forget(NameHash name) { shards_.erase({name.high, name.low}); }

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, ShardId> shards_;
};

}  // namespace gcoord::client
