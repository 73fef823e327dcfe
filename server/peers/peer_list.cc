#include "server/peers/peer_list.h"

#include "server/interfaces/cluster_members.h"
#include "server/platform/endpoint_name.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

// A peer whose address is not known, or cannot be, is not called: it calls.
netcore::PeerAddress address_of(NodeId node, const std::string& address) {
  const Result<Endpoint> endpoint = parse_endpoint(address);
  return endpoint.ok() ? netcore::PeerAddress{node, endpoint.value().host, endpoint.value().port}
                       : netcore::PeerAddress{node, {}, 0};
}

}  // namespace

PeerList::PeerList(NodeId self, std::span<const netcore::PeerAddress> peers, std::uint64_t epoch)
    : self_(self), epoch_(epoch) {
  for (const netcore::PeerAddress& peer : peers) {
    auto& known = peers_[peer.id];
    if (peer.port == 0) {
      known.emplace();
    } else if (epoch != 0) {
      known = to_string(Endpoint{peer.host, peer.port});
    }
  }
}

std::optional<PeerList::Changes> PeerList::follow(const protocol::ClusterView& view) {
  if (view.epoch == 0 || view.epoch < epoch_) {
    return std::nullopt;
  }
  epoch_ = view.epoch;
  Changes changes;
  changes.removed_self = has_left(view, self_);
  for (const NodeId node : departed(view)) {
    if (removed_.insert(node).second) {
      peers_.erase(node);
      changes.removed.push_back(node);
    }
  }
  const std::vector<NodeId> present = nodes_of(view);
  for (const protocol::Member& member : view.nodes) {
    if (member.id != self_ && std::binary_search(present.begin(), present.end(), member.id)) {
      follow_peer(member, changes);
    }
  }
  return changes;
}

void PeerList::meet(NodeId node, const std::string& address) {
  const bool foreign = node != self_ && !removed_.contains(node) && peers_.size() < kPeersMax;
  if (foreign && peers_.try_emplace(node, address).second) {
    met_.push_back(address_of(node, address));
  }
}

// Others by their tombstones, and peers whose tombstones the view has no more.
std::vector<NodeId> PeerList::departed(const protocol::ClusterView& view) const {
  std::vector<NodeId> nodes;
  for (const protocol::Member& member : view.nodes) {
    if (member.state == protocol::MemberState::Removed && member.id != self_) {
      nodes.push_back(member.id);
    }
  }
  for (const auto& [peer, address] : peers_) {
    if (has_left(view, peer)) {
      nodes.push_back(peer);
    }
  }
  return nodes;
}

void PeerList::follow_peer(const protocol::Member& member, Changes& changes) {
  const auto [known, added] = peers_.try_emplace(member.id);
  std::optional<std::string>& before = known->second;
  if (added) {
    changes.added.push_back(address_of(member.id, member.peer_address));
    before = member.peer_address;
  } else if (!member.peer_address.empty()) {
    if (before && *before != member.peer_address) {
      changes.moved.push_back(address_of(member.id, member.peer_address));
    }
    before = member.peer_address;
  }
}

}  // namespace gcoord::server
