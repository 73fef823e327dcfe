#include "server/interfaces/cluster_members.h"

#include "protocol/members/voters.h"

namespace gcoord::server {

using protocol::ClusterView;

std::vector<NodeId> voters_of(const ClusterView& view) {
  return protocol::view_voters(view);
}

std::vector<NodeId> voters_with_state(const protocol::ClusterView& view) {
  std::vector<NodeId> nodes = voters_of(view);
  std::erase_if(nodes, [&view](NodeId node) {
    return protocol::find_member(view, node)->role == protocol::MemberRole::Witness;
  });
  return nodes;
}

std::vector<NodeId> nodes_of(const ClusterView& view) {
  return protocol::view_nodes(view);
}

bool has_left(const ClusterView& view, NodeId node) {
  if (const protocol::Member* const member = protocol::find_member(view, node)) {
    return member->state == protocol::MemberState::Removed;
  }
  return view.epoch != 0 && !view.nodes.empty() && node < view.nodes.back().id;
}

}  // namespace gcoord::server
