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

// A cluster that was restored from observers alone has to have somebody who votes.
void settle_voters(ClusterView& view) {
  const bool some = std::ranges::any_of(view.nodes, [](const Member& each) {
    return each.state == MemberState::Active && each.role == MemberRole::Voter;
  });
  for (Member& node : view.nodes) {
    if (!some && node.state == MemberState::Active) {
      node.role = MemberRole::Voter;
      node.weight = 1;
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
    node.invitation.reset();
    node.auto_promote = false;
    node.replaces = {};
    node.suspect = false;
    node.suspect_since_ms = 0;
    node.directory = 0;
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
  settle_voters(view);
  return view;
}

}  // namespace gcoord::membership
