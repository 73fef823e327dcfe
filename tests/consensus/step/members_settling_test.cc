// Where the plans of members lead: any shard comes to rest at the members that are wanted.
#include "consensus/step/members_plan.h"
#include "tests/consensus/random_values.h"
#include "tests/consensus/step/members_shard.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace gcoord::consensus {
namespace {

// Changes after which a shard that still finds one is called restless. The longest way goes to
// seven other voters, one slot after the other.
constexpr std::uint32_t kChangesMax = 64;

std::uint8_t any_weight() {
  return static_cast<std::uint8_t>(any_from(1, 3));
}

// Up to seven voters, draining ones and witnesses among them, and learners. Not only witnesses.
MembersTarget any_target() {
  MembersTarget target;
  std::uint32_t voters = 0;
  std::uint32_t leaders = 0;
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    const std::uint32_t kind = any_from(0u, 5u);
    if (kind <= 2 && voters < 7) {
      const std::uint8_t flags[] = {kVoter, kDraining, kTargetVoter};
      add_target(target, {.node = NodeId{node}, .weight = any_weight(), .flags = flags[kind]});
      ++voters;
      leaders += kind <= 1 ? 1 : 0;
    } else if (kind == 3) {
      add_learner(target, node, any_bool() ? kTargetJoining : std::uint8_t{0});
    }
  }
  if (leaders == 0) {
    return voters_of({any_from(1u, 7u)});
  }
  return target;
}

// Any members, of which a quorum lives and one of these leads.
Shard any_shard() {
  Configuration configuration = any_simple(any_bool() ? 1 : 3);
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    const bool learner = has_slot(configuration.learners, slot);
    configuration.weight[slot] =
        learner && any_bool() ? std::uint8_t{0} : configuration.weight[slot];
  }
  Shard shard(configuration);
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    if (any_from(0, 3) == 0) {
      shard.live.erase(node);
    }
    if (shard.live.contains(node) && any_from(0, 7) == 0) {
      shard.forgot.insert(node);
    }
  }
  shard.lives_end = !shard.forgot.empty() || any_bool();
  while (!shard.can_decide()) {
    const std::uint32_t node = any_from(1u, kNodes);
    shard.live.insert(node);
    shard.forgot.erase(node);
  }
  shard.elect();
  return shard;
}

void check_proposal(const Shard& shard, const MembersTarget& target, const MembersPlan& plan) {
  const Configuration& before = shard.configuration();
  const Configuration& next = plan.configuration;
  RC_ASSERT(well_formed(next, kReplicaSlots));
  RC_ASSERT(may_follow(before, next));
  RC_ASSERT(quorums_meet(before, next));
  const Configuration after = next.joint() ? leave_joint(next) : next;
  RC_ASSERT(is_quorum(next, shard.live_slots()));
  RC_ASSERT(is_quorum(after, shard.live_slots()));
  RC_ASSERT(count_slots(after.voters) >= std::min(count_slots(before.voters), target.voter_count));
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    const NodeId node = before.node[slot].value != 0 ? before.node[slot] : next.node[slot];
    const bool voted = has_slot(before.voters, slot);
    const bool votes = has_slot(after.voters, slot);
    const Found<TargetNode> wanted = find_target(target, node);
    const bool wanted_voter = wanted.found() && (wanted->flags & kTargetVoter) != 0;
    if (votes && !voted) {
      RC_ASSERT(wanted_voter);
      RC_ASSERT(has_slot(before.learners & shard.live_slots(), slot));
    }
    if (voted && !votes) {
      RC_ASSERT(!wanted_voter);
      RC_ASSERT(node != NodeId{shard.leader()});
    }
  }
}

// What was said of a member's old life ends, as readmission.h has it.
void readmit(Shard& shard, const ReadmissionPlan& plan) {
  shard.decide(plan.configuration);
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    if (has_slot(shard.configuration().learners, slot)) {
      const std::uint32_t node = shard.configuration().node[slot].value;
      if (shard.live.contains(node)) {
        shard.forgot.erase(node);
      }
    }
  }
}

// Goes on until nobody has anything to propose, and says how many changes that took.
std::uint32_t settle(Shard& shard, const MembersTarget& target) {
  for (std::uint32_t changes = 0; changes <= kChangesMax; ++changes) {
    const MembersPlan plan = shard.plan(target);
    const ReadmissionPlan back = shard.plan_back();
    RC_ASSERT(plan.step == MembersStep::None || back.step == ReadmissionStep::None);
    if (back.step != ReadmissionStep::None) {
      readmit(shard, back);
    } else if (plan.step == MembersStep::Transfer) {
      const std::uint32_t heir = shard.configuration().node[plan.heir].value;
      RC_ASSERT(shard.votes(heir) && shard.live.contains(heir) && !shard.forgot.contains(heir));
      shard.lead(heir);
    } else if (plan.step != MembersStep::None) {
      check_proposal(shard, target, plan);
      shard.decide(plan.configuration);
    } else {
      return changes;
    }
    shard.elect();
  }
  return kChangesMax + 1;
}

RC_GTEST_PROP(MembersPlan, ComesToRestFromAnyMembersAndIsThenAsWantedIfAllLive, ()) {
  Shard shard = any_shard();
  const MembersTarget target = any_target();
  RC_ASSERT(settle(shard, target) <= kChangesMax);
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    shard.live.insert(node);
  }
  RC_ASSERT(settle(shard, target) <= kChangesMax);
  RC_ASSERT(shard.forgot.empty() || shard.lives_end);
  RC_ASSERT(as_wanted(shard.configuration(), target, kReplicaSlots));
  const Found<TargetNode> leader = find_target(target, NodeId{shard.leader()});
  bool somebody_leads = false;
  for (std::uint32_t k = 0; k < target.count; ++k) {
    somebody_leads = somebody_leads || (target.node[k].flags & kTargetLeads) != 0;
  }
  RC_ASSERT(!somebody_leads || (leader.found() && (leader->flags & kTargetLeads) != 0));
}

RC_GTEST_PROP(MembersPlan, TargetsThatCrossEndAtTheLastOne, ()) {
  Shard shard = any_shard();
  const MembersTarget first = any_target();
  for (std::uint32_t steps = any_from(0u, 6u); steps != 0; --steps) {
    const MembersPlan plan = shard.plan(first);
    if (plan.step == MembersStep::Learners || plan.step == MembersStep::Voters) {
      shard.decide(plan.configuration);
      shard.elect();
    }
  }
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    shard.live.insert(node);
  }
  const MembersTarget last = any_target();
  RC_ASSERT(settle(shard, last) <= kChangesMax);
  RC_ASSERT(as_wanted(shard.configuration(), last, kReplicaSlots));
}

RC_GTEST_PROP(MembersPlan, WhatIsAsWantedNeedsNoProposal, ()) {
  Shard shard = any_shard();
  const MembersTarget target = any_target();
  settle(shard, target);
  if (as_wanted(shard.configuration(), target, kReplicaSlots)) {
    const MembersStep step = shard.plan(target).step;
    RC_ASSERT(step == MembersStep::None);
  }
}

}  // namespace
}  // namespace gcoord::consensus
