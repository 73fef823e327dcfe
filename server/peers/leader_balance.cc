#include "server/peers/leader_balance.h"

#include <algorithm>

namespace gcoord::server {

std::uint32_t LeaderBalance::sweep(const NodeView& node) {
  take_note(node);
  if (quiet_sweeps_ < kSettledSweeps ||
      !membership::leads_too_much(node.leader_count, node.shard_count, node.peers.size() + 1)) {
    return 0;
  }
  std::uint32_t transfers = 0;
  const std::uint32_t looks = std::min(kLooksEach * allowed_, node.shard_count);
  for (std::uint32_t k = 0; k < looks && transfers < allowed_; ++k) {
    const ShardView shard = hooks_.view(ShardId{cursor_});
    cursor_ = (cursor_ + 1) % node.shard_count;
    const NodeId preferred = membership::preferred_leader(shard.configuration, shard.shard);
    if (shard.role == consensus::Role::Leader && settled(preferred)) {
      hooks_.transfer(shard.shard, preferred);
      ++transfers;
    }
  }
  handed_over_ = transfers;
  return transfers;
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
