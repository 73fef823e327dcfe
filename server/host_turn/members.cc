// How the engine follows the nodes of the cluster while it runs.
#include "server/host_turn/host_replicas.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {

void HostReplicas::set_members(const ClusterMembers& members) {
  members_next_ = members;
}

// Between turns: nothing is gathered for a peer, and no row is being stepped.
void HostReplicas::follow_members() {
  if (!members_next_) {
    return;
  }
  const ClusterMembers members = *std::exchange(members_next_, std::nullopt);
  const auto changes = members_.follow(members.view);
  if (!changes) {
    return;
  }
  admission_->follow_view();
  for (const NodeId node : changes->removed) {
    remove_peer(node);
  }
  for (const netcore::PeerAddress& peer : changes->moved) {
    network_->set_address(peer);
  }
  for (const netcore::PeerAddress& peer : changes->added) {
    add_peer(peer);
  }
  // So that a leader finds a slot for each of them.
  const auto nodes = static_cast<std::uint32_t>(nodes_of(members.view).size());
  fail_unless(lanes_->make_slots(std::min(nodes, consensus::kReplicaSlots)));
  if (changes->removed_self) {
    fail_unless({StatusCode::FailedPrecondition,
                 "node " + std::to_string(options_.node.value) +
                     " was removed from the cluster by view " + std::to_string(members.view.epoch) +
                     ", and its id is not used again: delete its data directory, and add the "
                     "machine as a new node if it is to come back",
                 kNodeRemoved});
  }
}

void HostReplicas::add_peer(const netcore::PeerAddress& peer) {
  fail_unless(network_->add_peer(peer));
  peers_->add(peer.id);
  admission_->add(peer.id);
  lanes_->add_peer(peer.id);
}

// Rows may know it for a member still: to them it is a node of which nothing is heard.
void HostReplicas::remove_peer(NodeId node) {
  network_->remove_peer(node);
  inflow_->on_peer_down(node, {});
  peers_->remove(node);
  admission_->remove(node);
  lanes_->remove_peer(node);
  lanes_->wake_all();
}

}  // namespace gcoord::server
