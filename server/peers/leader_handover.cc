#include "server/peers/leader_handover.h"

#include <algorithm>
#include <vector>

namespace gcoord::server {

bool hand_over_leaders(ReplicatedLog& log,
                       const ClusterMembers& members,
                       std::uint32_t shard_count) {
  const std::vector<NodeId> voters = voters_with_state(members.view);
  std::vector<NodeId> heirs;
  for (const NodePeerView& peer : log.view().peers) {
    const bool votes = members.view.epoch == 0 || std::ranges::binary_search(voters, peer.link.id);
    if (peer.live && votes) {
      heirs.push_back(peer.link.id);
    }
  }
  if (heirs.empty()) {
    return false;
  }
  for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
    if (log.view(ShardId{shard}).role == consensus::Role::Leader) {
      log.transfer(ShardId{shard}, heirs[shard % heirs.size()]);
    }
  }
  return true;
}

}  // namespace gcoord::server
