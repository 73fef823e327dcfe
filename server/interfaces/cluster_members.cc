#include "server/interfaces/cluster_members.h"

#include "protocol/members/voters.h"

#include <algorithm>

namespace gcoord::server {

using protocol::ClusterView;

namespace {

bool is_majority_of(std::span<const NodeId> voters, std::span<const NodeId> nodes) {
  const auto count = std::ranges::count_if(
      voters, [nodes](NodeId voter) { return std::ranges::find(nodes, voter) != nodes.end(); });
  return static_cast<std::size_t>(count) > voters.size() / 2;
}

}  // namespace

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

bool is_majority(const ClusterMembers& members, std::span<const NodeId> nodes) {
  return is_majority_of(voters_of(members.view), nodes) &&
         std::ranges::all_of(members.earlier_voters, [nodes](const std::vector<NodeId>& voters) {
           return is_majority_of(voters, nodes);
         });
}

}  // namespace gcoord::server
