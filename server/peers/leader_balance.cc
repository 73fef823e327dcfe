#include "server/peers/leader_balance.h"

#include <algorithm>

namespace gcoord::server {

std::uint32_t LeaderBalance::sweep(const NodeView& node) {
  take_note(node);
  const auto others = static_cast<std::size_t>(std::ranges::count_if(
      node.peers, [this](const NodePeerView& peer) { return !never_leads(peer.link.id); }));
  if (quiet_sweeps_ < kSettledSweeps ||
      !membership::leads_too_much(node.leader_count, node.shard_count, others + 1)) {
    return 0;
  }
  std::uint32_t transfers = 0;
  const std::uint32_t looks = std::min(kLooksEach * allowed_, node.shard_count);
  for (std::uint32_t k = 0; k < looks && transfers < allowed_; ++k) {
    const ShardView shard = hooks_.view(ShardId{cursor_});
    cursor_ = (cursor_ + 1) % node.shard_count;
    if (shard.role != consensus::Role::Leader) {
      continue;
    }
    if (const NodeId heir = preferred(shard); settled(heir)) {
      hooks_.transfer(shard.shard, heir);
      ++transfers;
    }
  }
  handed_over_ = transfers;
  return transfers;
}

// Among those that may lead.
NodeId LeaderBalance::preferred(const ShardView& shard) const {
  consensus::Configuration electors = shard.configuration;
  for (std::uint32_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
    if (never_leads(electors.node[slot])) {
      const auto others = static_cast<consensus::SlotMask>(~consensus::slot_bit(slot));
      electors.voters = static_cast<consensus::SlotMask>(electors.voters & others);
      electors.voters_outgoing =
          static_cast<consensus::SlotMask>(electors.voters_outgoing & others);
      electors.learners = static_cast<consensus::SlotMask>(electors.learners & others);
    }
  }
  return membership::preferred_leader(electors, shard.shard);
}

void LeaderBalance::take_note(const NodeView& node) {
  for (const NodePeerView& peer : node.peers) {
    std::uint32_t& sweeps = live_sweeps_[peer.link.id.value];
    sweeps = peer.live ? sweeps + 1 : 0;
  }
  allowed_ = membership::next_allowance(
      {.allowed = allowed_,
       .handed_over = handed_over_,
       .gone = leader_count_ - std::min(node.leader_count, leader_count_)});
  handed_over_ = 0;
  quiet_sweeps_ = node.leader_count <= leader_count_ ? quiet_sweeps_ + 1 : 0;
  leader_count_ = node.leader_count;
}

bool LeaderBalance::settled(NodeId peer) const {
  const auto found = live_sweeps_.find(peer.value);
  return found != live_sweeps_.end() && found->second >= kSettledSweeps &&
         (!hooks_.takes || hooks_.takes(peer));
}

}  // namespace gcoord::server
