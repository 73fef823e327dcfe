#include "server/members/leader_moves.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

void LeaderMoves::begin(Ended ended) {
  ended_ = std::move(ended);
  next_ = 0;
  offered_ = 0;
}

bool LeaderMoves::takes(NodeId node, const NodeView& around) const {
  const auto peer =
      std::ranges::find(around.peers, node, [](const NodePeerView& each) { return each.link.id; });
  const membership::Member* const member = protocol::find_member(machine_.views().view(), node);
  const bool wanted =
      member == nullptr || (member->state == membership::MemberState::Active &&
                            member->role == membership::MemberRole::Voter && !member->suspect);
  return peer != around.peers.end() && peer->live && wanted;
}

bool LeaderMoves::hand_over(ShardId shard, const NodeView& around) {
  const ShardView row = log_.view(shard);
  if (row.role != consensus::Role::Leader) {
    return false;
  }
  for (std::uint32_t k = 0; k < consensus::kReplicaSlots; ++k) {
    const std::uint32_t slot = (offered_ + k) % consensus::kReplicaSlots;
    const NodeId node = row.configuration.node[slot];
    if (consensus::has_slot(row.configuration.voters, slot) && node != around.node &&
        takes(node, around)) {
      log_.transfer(shard, node);
      return true;
    }
  }
  return false;
}

bool LeaderMoves::advance() {
  if (ended_ == nullptr) {
    return false;
  }
  const NodeView around = log_.view();
  const std::uint32_t end =
      next_ + std::min(kShardsPerPass, around.shard_count - std::min(next_, around.shard_count));
  for (; next_ < end; ++next_) {
    offered_ += hand_over(ShardId{next_}, around) ? 1 : 0;
  }
  if (next_ < around.shard_count) {
    return true;
  }
  const Ended ended = std::exchange(ended_, nullptr);
  ended(offered_);
  return false;
}

}  // namespace gcoord::server
