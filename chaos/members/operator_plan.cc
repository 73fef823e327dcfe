#include "chaos/members/operator_plan.h"

#include "chaos/members/survivors.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace gcoord::chaos {

using protocol::Member;
using protocol::MemberAction;
using protocol::MemberActionOrder;
using protocol::MemberRole;
using protocol::MemberState;

namespace {

constexpr std::size_t kVotersMin = 3;
constexpr std::size_t kVotersMax = 7;  // GC6626.
constexpr std::size_t kPresentMax = 8;
constexpr std::uint64_t kTokenMs = 60'000;

using Nodes = std::vector<const Member*>;

Nodes nodes_where(const protocol::ClusterView& view, const std::function<bool(const Member&)>& is) {
  Nodes nodes;
  for (const Member& node : view.nodes) {
    if (is(node)) {
      nodes.push_back(&node);
    }
  }
  return nodes;
}

bool is_voter(const Member& node) {
  const bool there = node.state == MemberState::Active || node.state == MemberState::Draining;
  return there && node.role == MemberRole::Voter;
}

bool is_replaced(const protocol::ClusterView& view, NodeId id) {
  return std::ranges::any_of(view.nodes, [id](const Member& node) {
    return node.state == MemberState::Joining && node.replaces == id;
  });
}

MemberActionOrder order_of(MemberAction action, NodeId node) {
  MemberActionOrder order;
  order.action = action;
  order.node = node;
  return order;
}

// With force: a machine that was lost before anybody in the cluster had heard what its release can
// would be refused (GC6628), and the operator knows that it does not come back.
MemberActionOrder vouched(MemberActionOrder order) {
  order.force = true;
  return order;
}

MemberActionOrder add_order(SimRandom& random, NodeId replaces) {
  MemberActionOrder order = order_of(MemberAction::Add, NodeId{});
  const bool observes = replaces == NodeId{} && random.below(6) == 0;
  order.role = observes ? MemberRole::Observer : MemberRole::Voter;
  order.weight = observes ? 0 : random.below(8) == 0 ? 2 : 1;
  order.auto_promote = random.below(2) == 0;
  order.replaces = replaces;
  order.token_ms = kTokenMs;
  return order;
}

// Nodes on their way in or out at once.
std::size_t moving_count(const protocol::ClusterView& view) {
  return nodes_where(view,
                     [](const Member& node) {
                       return node.state == MemberState::Joining ||
                              node.state == MemberState::Leaving;
                     })
      .size();
}

const Member& one_of(const Nodes& nodes, SimRandom& random) {
  return *nodes[random.below(static_cast<std::uint32_t>(nodes.size()))];
}

bool may_add(const OperatorFacts& facts) {
  const auto present = nodes_where(
      facts.view, [](const Member& node) { return node.state != MemberState::Removed; });
  // Orders that are under way may give two more.
  return facts.view.nodes.back().id.value + 2 < kWorldIdsMax && present.size() < kPresentMax;
}

// A machine that is gone for ever is replaced, or, where enough are left, taken out.
std::optional<MemberActionOrder> order_for_lost(const OperatorFacts& facts,
                                                const Nodes& voters,
                                                SimRandom& random) {
  const Nodes lost = nodes_where(facts.view, [&facts](const Member& node) {
    return facts.lost.contains(node.id) && is_voter(node) && !is_replaced(facts.view, node.id);
  });
  if (lost.empty()) {
    return std::nullopt;
  }
  const bool replaces = voters.size() <= kVotersMin || random.below(3) != 0;
  if (replaces && may_add(facts)) {
    return vouched(add_order(random, lost.front()->id));
  }
  return voters.size() > kVotersMin
             ? std::optional(vouched(order_of(MemberAction::Remove, lost.front()->id)))
             : std::nullopt;
}

std::optional<MemberActionOrder> change_of(const Member& node, SimRandom& random) {
  switch (random.below(5)) {
    case 0:
    case 1: {
      const bool drains = node.state == MemberState::Draining;
      return order_of(drains ? MemberAction::Undrain : MemberAction::Drain, node.id);
    }
    case 2: {
      MemberActionOrder order = order_of(MemberAction::Reweigh, node.id);
      order.weight = random.between(1, 3);
      return order;
    }
    default:
      return order_of(MemberAction::MoveLeaders, node.id);
  }
}

// A machine that is gone for ever counts as alive in the cluster for a while; the operator knows.
bool is_outlived(const OperatorFacts& facts, const MemberActionOrder& order) {
  return !changes_votes(order.action) || has_majority(after_order(facts.view, order), facts.lost);
}

std::optional<MemberActionOrder> draw_order(const OperatorFacts& facts, SimRandom& random) {
  const Nodes voters = nodes_where(facts.view, is_voter);
  if (voters.empty()) {
    return std::nullopt;
  }
  const Nodes joiners = nodes_where(facts.view, [&facts](const Member& node) {
    return node.state == MemberState::Joining && facts.running.contains(node.id);
  });
  if (!joiners.empty() && random.below(3) == 0) {
    return order_of(MemberAction::Promote, one_of(joiners, random).id);
  }
  if (auto order = order_for_lost(facts, voters, random)) {
    return order;
  }
  const std::size_t coming = nodes_where(facts.view, [](const Member& node) {
                               return node.state == MemberState::Joining;
                             }).size();
  const bool grows = voters.size() + coming < facts.size;
  if (may_add(facts) && moving_count(facts.view) < 4 && (grows || random.below(3) == 0)) {
    const Member& old = one_of(voters, random);
    const bool replaces = !grows && !is_replaced(facts.view, old.id);
    return grows || replaces ? std::optional(add_order(random, replaces ? old.id : NodeId{}))
                             : std::nullopt;
  }
  if (random.below(4) == 0) {
    const Nodes leavers = nodes_where(facts.view, [&](const Member& node) {
      const bool spare = voters.size() > kVotersMin && is_voter(node);
      const bool observes = node.state == MemberState::Active && !is_voter(node);
      const bool joins = node.state == MemberState::Joining;
      return spare || observes || (joins && random.below(4) == 0);
    });
    return leavers.empty()
               ? std::nullopt
               : std::optional(order_of(MemberAction::Remove, one_of(leavers, random).id));
  }
  return change_of(one_of(voters, random), random);
}

}  // namespace

std::optional<MemberActionOrder> next_order(const OperatorFacts& facts, SimRandom& random) {
  auto order = draw_order(facts, random);
  return order && is_outlived(facts, *order) ? order : std::nullopt;
}

std::optional<MemberActionOrder> last_order(const OperatorFacts& facts) {
  const bool full = nodes_where(facts.view, is_voter).size() >= kVotersMax;
  for (const Member& node : facts.view.nodes) {
    const bool gone = facts.lost.contains(node.id);
    const bool leaves = node.state == MemberState::Removed || node.state == MemberState::Leaving;
    const bool comes = node.state == MemberState::Joining && !gone && !full;
    if (comes && facts.waiting.contains(node.id)) {
      continue;
    }
    if (comes && facts.running.contains(node.id)) {
      const MemberActionOrder order = order_of(MemberAction::Promote, node.id);
      if (is_outlived(facts, order)) {
        return order;
      }
      continue;
    }
    if (!leaves && (gone || node.state == MemberState::Joining) &&
        !is_replaced(facts.view, node.id)) {
      const MemberActionOrder order = order_of(MemberAction::Remove, node.id);
      return gone ? vouched(order) : order;
    }
  }
  const auto stays = std::ranges::find_if(facts.view.nodes, [&facts](const Member& node) {
    return node.state == MemberState::Leaving && facts.lost.contains(node.id);
  });
  return facts.vouches && stays != facts.view.nodes.end()
             ? std::optional(vouched(order_of(MemberAction::Remove, stays->id)))
             : std::nullopt;
}

}  // namespace gcoord::chaos
