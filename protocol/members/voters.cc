#include "protocol/members/voters.h"

namespace gcoord::protocol {

std::vector<NodeId> view_voters(const ClusterView& view) {
  std::vector<NodeId> voters;
  for (const Member& node : view.nodes) {
    const bool counts = node.state == MemberState::Active || node.state == MemberState::Draining ||
                        node.state == MemberState::Leaving;
    if (counts && node.role != MemberRole::Observer) {
      voters.push_back(node.id);
    }
  }
  return voters;
}

std::vector<NodeId> view_nodes(const ClusterView& view) {
  std::vector<NodeId> nodes;
  for (const Member& node : view.nodes) {
    if (node.state != MemberState::Removed && (!node.invitation || is_renewed(node))) {
      nodes.push_back(node.id);
    }
  }
  return nodes;
}

}  // namespace gcoord::protocol
