// The node's coordinator, as the lock service keeps and shows it.
#include "server/lock_service.h"

namespace gcoord::server {

CoordinatorDriver::Environment LockService::office_doors() {
  return {.peers =
              [this] {
                std::vector<CoordinatorPeer> peers;
                for (const NodePeerView& peer : engine_->view().peers) {
                  const NodeId node = peer.link.id;
                  peers.push_back({node,
                                   peer.link.incarnation,
                                   peer.live,
                                   node_features_.has(node, rpc::Feature::Coordinators)});
                }
                return peers;
              },
          .send = [this](NodeId to, auto message) { engine_->send_peer_message(to, message); }};
}

CoordinatorView LockService::coordinator() const {
  CoordinatorView view = office_.view();
  if (options_.coordinator == CoordinatorMethod::Raft) {
    view.coordinator = engine_->view(ShardId{0}).leader;
  }
  return view;
}

}  // namespace gcoord::server
