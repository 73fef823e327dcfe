#include "server/peers/leader_relief.h"

#include <algorithm>
#include <vector>

namespace gcoord::server {

std::uint32_t LeaderRelief::sweep(const NodeView& node) {
  std::vector<NodeId> heirs;
  for (const NodePeerView& peer : node.peers) {
    if (peer.live && hooks_.takes(peer.link.id)) {
      heirs.push_back(peer.link.id);
    }
  }
  if (heirs.empty() || node.leader_count == 0) {
    return 0;
  }
  std::uint32_t transfers = 0;
  const std::uint32_t looks = std::min(kLooksMax, node.shard_count);
  for (std::uint32_t k = 0; k < looks && transfers < kTransfersMax; ++k) {
    const ShardId shard{cursor_};
    cursor_ = (cursor_ + 1) % node.shard_count;
    if (hooks_.view(shard).role == consensus::Role::Leader) {
      hooks_.transfer(shard, heirs[shard.value % heirs.size()]);
      ++transfers;
    }
  }
  return transfers;
}

}  // namespace gcoord::server
