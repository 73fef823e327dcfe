#include "server/leader_balance.h"

#include "consensus/quorum.h"

#include <algorithm>

namespace gcoord::server {
namespace {

// A node keeps a twentieth more than its share: shards do not divide evenly, and elections go on.
bool leads_too_much(const NodeView& node) {
  const auto nodes = static_cast<std::uint64_t>(node.peers.size() + 1);
  const std::uint64_t share = (node.shard_count + nodes - 1) / nodes;
  return node.leader_count > share + share / 20;
}

// Voters, and learners that are on their way back to being one (consensus/readmission_plan.h): who
// should lead what does not change while a restarted node is re-admitted.
std::uint32_t count_electors(const consensus::Configuration& configuration) {
  std::uint32_t count = consensus::count_slots(configuration.voters_either());
  for (std::uint32_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
    const bool returns =
        consensus::has_slot(configuration.learners, slot) && configuration.weight[slot] != 0;
    count += returns ? 1 : 0;
  }
  return count;
}

}  // namespace

NodeId preferred_leader(const ShardView& shard) {
  const std::uint32_t count = count_electors(shard.configuration);
  if (count == 0) {
    return NodeId{0};
  }
  const std::uint32_t slot = shard.shard.value % count;
  return consensus::has_slot(shard.configuration.voters_either(), slot)
             ? shard.configuration.node[slot]
             : NodeId{0};
}

std::uint32_t LeaderBalance::sweep(const NodeView& node) {
  take_note(node);
  if (quiet_sweeps_ < kSettledSweeps || !leads_too_much(node)) {
    return 0;
  }
  std::uint32_t transfers = 0;
  const std::uint32_t looks = std::min(kLooksEach * allowed_, node.shard_count);
  for (std::uint32_t k = 0; k < looks && transfers < allowed_; ++k) {
    const ShardView shard = hooks_.view(ShardId{cursor_});
    cursor_ = (cursor_ + 1) % node.shard_count;
    const NodeId preferred = preferred_leader(shard);
    if (shard.role == consensus::Role::Leader && settled(preferred)) {
      hooks_.transfer(shard.shard, preferred);
      ++transfers;
    }
  }
  handed_over_ = transfers;
  return transfers;
}

// A node that hands over as many as it may, and has lost them all a second later, may hand over
// more: how fast others take over is theirs to show.
void LeaderBalance::adapt(std::uint32_t leader_count) {
  if (handed_over_ == 0) {
    return;
  }
  const std::uint32_t gone = leader_count_ - std::min(leader_count, leader_count_);
  if (gone < handed_over_ / 2) {
    allowed_ = std::max(kTransfersFirst, allowed_ / 2);
  } else if (gone >= handed_over_ && handed_over_ == allowed_) {
    allowed_ = std::min(kTransfersMost, allowed_ * 2);
  }
  handed_over_ = 0;
}

void LeaderBalance::take_note(const NodeView& node) {
  for (const NodePeerView& peer : node.peers) {
    std::uint32_t& sweeps = live_sweeps_[peer.link.id.value];
    sweeps = peer.live ? sweeps + 1 : 0;
  }
  adapt(node.leader_count);
  quiet_sweeps_ = node.leader_count <= leader_count_ ? quiet_sweeps_ + 1 : 0;
  leader_count_ = node.leader_count;
}

bool LeaderBalance::settled(NodeId peer) const {
  const auto found = live_sweeps_.find(peer.value);
  return found != live_sweeps_.end() && found->second >= kSettledSweeps;
}

}  // namespace gcoord::server
