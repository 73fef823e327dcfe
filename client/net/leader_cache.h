// Cache of shard leaders that this client learned from answers, hints and maps. Only a guess; a
// wrong one costs a redirect. One thread.
#pragma once

#include "common/ids.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::client {

class LeaderCache {
 public:
  void resize(std::uint32_t shard_count) { leaders_.resize(shard_count); }

  // Node 0 when not known.
  NodeId leader(ShardId shard) const {
    return shard.value < leaders_.size() ? leaders_[shard.value] : NodeId{};
  }

  void learn(ShardId shard, NodeId node) {
    if (shard.value < leaders_.size()) {
      leaders_[shard.value] = node;
    }
  }

  void forget(ShardId shard) { learn(shard, NodeId{}); }

 private:
  std::vector<NodeId> leaders_;  // By shard.
};

}  // namespace gcoord::client
