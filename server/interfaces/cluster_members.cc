#include "server/interfaces/cluster_members.h"

#include <algorithm>

namespace gcoord::server {

using protocol::ClusterView;
using protocol::Member;
using protocol::MemberRole;
using protocol::MemberState;

namespace {

bool is_majority_of(std::span<const NodeId> voters, std::span<const NodeId> nodes) {
  const auto count = std::ranges::count_if(
      voters, [nodes](NodeId voter) { return std::ranges::find(nodes, voter) != nodes.end(); });
  return static_cast<std::size_t>(count) > voters.size() / 2;
}

}  // namespace

std::vector<NodeId> voters_of(const ClusterView& view) {
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

std::vector<NodeId> nodes_of(const ClusterView& view) {
  std::vector<NodeId> nodes;
  for (const Member& node : view.nodes) {
    if (node.state != MemberState::Removed && !node.invitation) {
      nodes.push_back(node.id);
    }
  }
  return nodes;
}

bool is_majority(const ClusterMembers& members, std::span<const NodeId> nodes) {
  return is_majority_of(voters_of(members.view), nodes) &&
         std::ranges::all_of(members.earlier_voters, [nodes](const std::vector<NodeId>& voters) {
           return is_majority_of(voters, nodes);
         });
}

}  // namespace gcoord::server
