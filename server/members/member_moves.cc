#include "server/members/member_moves.h"

#include <algorithm>

namespace gcoord::server {

std::vector<NodeId> live_nodes(const NodeView& node) {
  std::vector<NodeId> live = {node.node};
  for (const NodePeerView& peer : node.peers) {
    if (peer.live) {
      live.push_back(peer.link.id);
    }
  }
  std::ranges::sort(live);
  return live;
}

protocol::MemberMoves moves_of(const ReplicatedLog& log,
                               const ViewMachine& machine,
                               const ViewKeeper& keeper) {
  const membership::ClusterView& view = machine.views().view();
  const NodeView node = log.view();
  protocol::MemberMoves moves{.epoch = view.epoch, .shards = view.settings.shards};
  const auto add = [&](const membership::ShardProgress& said) {
    if (said.epoch == view.epoch) {
      moves.led += said.led;
      moves.settled += said.settled;
      moves.ready += said.ready;
    }
  };
  const MembersProgress own = log.members_progress();
  add({.epoch = own.epoch, .led = own.led, .settled = own.settled, .ready = own.ready});
  for (const NodeId peer : live_nodes(node)) {
    const auto said = peer == node.node ? std::nullopt : keeper.progress_of(peer);
    if (said) {
      add(*said);
    }
  }
  return moves;
}

}  // namespace gcoord::server
