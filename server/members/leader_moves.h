// Leaderships that a node hands over once, because an operator asked for it.
//
// Each shard that the node leads is offered to a voter that lives, is active and is no suspect; to
// one after the other, so that none gets them all. Some shards per pass, because a node may lead
// tens of thousands. A transfer is best effort. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "server/interfaces/replicated_log.h"
#include "server/members/view_machine.h"

#include <cstdint>
#include <functional>

namespace gcoord::server {

class LeaderMoves {
 public:
  static constexpr std::uint32_t kShardsPerPass = 512;

  // How many shards were offered to others.
  using Ended = std::function<void(std::uint32_t)>;

  // Both outlive it.
  LeaderMoves(ReplicatedLog& log, const ViewMachine& machine) : log_(log), machine_(machine) {}

  bool under_way() const { return ended_ != nullptr; }

  // Only while nothing is under way.
  void begin(Ended ended);

  // Once per pass. Whether there is more to do at once.
  bool advance();

 private:
  bool takes(NodeId node, const NodeView& around) const;
  bool hand_over(ShardId shard, const NodeView& around);

  ReplicatedLog& log_;
  const ViewMachine& machine_;
  Ended ended_;
  std::uint32_t next_ = 0;
  std::uint32_t offered_ = 0;
};

}  // namespace gcoord::server
