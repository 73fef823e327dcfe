#include "chaos/members/survivors.h"

#include "server/peers/members_target.h"

#include <algorithm>
#include <cstdint>

namespace gcoord::chaos {

using protocol::ClusterView;
using protocol::Member;
using protocol::MemberAction;
using protocol::MemberState;

namespace {

// Who is replaced leaves in the same change.
void promote(ClusterView& view, NodeId id) {
  const auto heir = std::ranges::find(view.nodes, id, &Member::id);
  if (heir == view.nodes.end()) {
    return;
  }
  heir->state = MemberState::Active;
  const auto old = std::ranges::find(view.nodes, heir->replaces, &Member::id);
  if (heir->replaces != NodeId{} && old != view.nodes.end()) {
    old->state = MemberState::Leaving;
  }
}

}  // namespace

bool changes_votes(MemberAction action) {
  return action == MemberAction::Remove || action == MemberAction::Promote ||
         action == MemberAction::Reweigh;
}

bool has_majority(const ClusterView& view, const std::set<NodeId>& lost) {
  const consensus::MembersTarget target = server::members_targets(view).shards;
  std::uint32_t all = 0;
  std::uint32_t left = 0;
  for (std::uint32_t k = 0; k < target.count; ++k) {
    const consensus::TargetNode& each = target.node[k];
    const std::uint32_t weight = (each.flags & consensus::kTargetVoter) != 0 ? each.weight : 0;
    all += weight;
    left += lost.contains(each.node) ? 0 : weight;
  }
  return 2 * left > all;
}

ClusterView after_order(const ClusterView& view, const protocol::MemberActionOrder& order) {
  ClusterView after = view;
  const auto node = std::ranges::find(after.nodes, order.node, &Member::id);
  if (node == after.nodes.end()) {
    return after;
  }
  if (order.action == MemberAction::Remove) {
    node->state = MemberState::Leaving;
  } else if (order.action == MemberAction::Reweigh) {
    node->weight = order.weight;
  } else if (order.action == MemberAction::Promote) {
    promote(after, order.node);
  }
  return after;
}

std::vector<ClusterView> coming_views(const ClusterView& view) {
  std::vector<ClusterView> views = {view};
  ClusterView all = view;
  for (const Member& node : view.nodes) {
    if (node.state == MemberState::Joining && node.auto_promote) {
      ClusterView one = view;
      promote(one, node.id);
      promote(all, node.id);
      views.push_back(std::move(one));
    }
  }
  views.push_back(std::move(all));
  return views;
}

}  // namespace gcoord::chaos
