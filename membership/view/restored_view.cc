#include "membership/view/restored_view.h"

#include <algorithm>

namespace gcoord::membership {

namespace {

// A node whose id had left before may come back to a name that another has taken.
void settle_names(ClusterView& view) {
  for (std::size_t k = 0; k < view.nodes.size(); ++k) {
    const auto before = std::span{view.nodes}.first(k);
    const bool taken = std::ranges::any_of(before, [&](const Member& each) {
      return each.state != MemberState::Removed && each.name == view.nodes[k].name;
    });
    if (taken && view.nodes[k].state != MemberState::Removed) {
      view.nodes[k].name = protocol::default_member_name(view.nodes[k].id);
    }
  }
}

}  // namespace

ClusterView restored_view(const ClusterView& saved, std::span<const NodeId> nodes) {
  ClusterView view = saved;
  if (view.epoch == 0) {
    return view;
  }
  ++view.epoch;
  for (Member& node : view.nodes) {
    const bool stays = std::ranges::find(nodes, node.id) != nodes.end();
    node.state = stays ? MemberState::Active : MemberState::Removed;
    node.incarnation = Incarnation{0};
    node.peer_address.clear();
    node.client_address.clear();
  }
  for (const NodeId id : nodes) {
    const bool has_room = view.nodes.size() < protocol::kViewNodesMax;
    if (protocol::find_member(view, id) == nullptr && has_room) {
      view.nodes.push_back({.id = id, .name = protocol::default_member_name(id)});
    }
  }
  std::ranges::sort(view.nodes, {}, &Member::id);
  settle_names(view);
  return view;
}

}  // namespace gcoord::membership
