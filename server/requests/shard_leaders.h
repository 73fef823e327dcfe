// Leaders of shards as the lock service knows them: a bit for each shard that this node leads, and
// hints for the others.
//
// leads() changes only with Service::on_role, so it stays the same within a request; the hint for
// clients is the engine's present word. A bit per shard. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "server/requests/service_log.h"

#include <cstdint>
#include <vector>

namespace gcoord::server {

class ShardLeaders {
 public:
  ShardLeaders(std::uint32_t shard_count, const ServiceLog& log)
      : log_(log), led_((shard_count + 63) / 64) {}

  bool leads(ShardId shard) const {
    return (led_[shard.value / 64] >> (shard.value % 64) & 1u) != 0;
  }

  void set_leads(ShardId shard, bool leading) {
    const std::uint64_t bit = std::uint64_t{1} << (shard.value % 64);
    std::uint64_t& word = led_[shard.value / 64];
    word = leading ? word | bit : word & ~bit;
  }

  // The node to ask; 0: none is known.
  NodeId leader(ShardId shard) const { return log_.view(shard).leader; }

  // The term that this node is in there: its own as leader, or that of the leader it knows.
  Term term(ShardId shard) const { return log_.view(shard).term; }

 private:
  const ServiceLog& log_;
  std::vector<std::uint64_t> led_;
};

}  // namespace gcoord::server
