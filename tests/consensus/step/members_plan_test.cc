#include "consensus/step/members_plan.h"

#include "consensus/device/row_copy.h"
#include "consensus/step/recover.h"
#include "tests/consensus/random_values.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace gcoord::consensus {
namespace {

constexpr std::uint32_t kNodes = 12;
constexpr LogIndex kLast{100};

// Changes after which a shard that still finds one is called restless. The longest way goes to
// seven other voters, one slot after the other.
constexpr std::uint32_t kChangesMax = 64;

constexpr std::uint8_t kVoter = kTargetVoter | kTargetLeads | kTargetLeadsAtNeed;
constexpr std::uint8_t kDraining = kTargetVoter | kTargetLeadsAtNeed;

MembersTarget voters_of(const std::vector<std::uint32_t>& nodes) {
  MembersTarget target;
  for (const std::uint32_t node : nodes) {
    add_target(target, {.node = NodeId{node}, .flags = kVoter});
  }
  return target;
}

void add_learner(MembersTarget& target, std::uint32_t node, std::uint8_t flags = 0) {
  add_target(target, {.node = NodeId{node}, .weight = 0, .flags = flags});
}

Configuration voting(const std::vector<std::uint32_t>& nodes) {
  Configuration configuration;
  std::uint32_t slot = 0;
  for (const std::uint32_t node : nodes) {
    configuration.node[slot] = NodeId{node};
    configuration.weight[slot] = 1;
    configuration.voters = static_cast<SlotMask>(configuration.voters | slot_bit(slot++));
  }
  return configuration;
}

Configuration with_learner(Configuration configuration, std::uint32_t node) {
  const std::uint32_t slot = count_slots(configuration.members());
  configuration.node[slot] = NodeId{node};
  configuration.learners = static_cast<SlotMask>(configuration.learners | slot_bit(slot));
  return configuration;
}

// A shard whose leader has decided all of its log, and in which whoever lives has all of it. What
// is proposed is decided at once.
class Shard {
 public:
  explicit Shard(Configuration configuration, std::uint32_t leader = 1) {
    configuration_ = configuration;
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      live.insert(node);
      has_log.insert(node);
    }
    lead(leader);
  }

  void lead(std::uint32_t node) { leader_ = node; }

  std::uint32_t leader() const { return leader_; }

  const Configuration& configuration() const { return configuration_; }

  bool votes(std::uint32_t node) const {
    const std::uint8_t slot = slot_of(configuration_, NodeId{node});
    return slot != kSlotNone && has_slot(configuration_.voters, slot);
  }

  bool learns(std::uint32_t node) const {
    const std::uint8_t slot = slot_of(configuration_, NodeId{node});
    return slot != kSlotNone && has_slot(configuration_.learners, slot);
  }

  ShardRef row() {
    recover(ref(),
            {.term = Term{3},
             .floor = kLast,
             .floor_term = Term{3},
             .commit = kLast,
             .configuration = configuration_},
            NodeId{leader_});
    copy_.hot.role = Role::Leader;
    copy_.log.configuration_pending = kLast;
    for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
      const std::uint32_t node = configuration_.node[slot].value;
      Progress& progress = copy_.progress[slot];
      progress.acked_session = live.contains(node) ? 5 : 4;
      progress.match = has_log.contains(node) ? kLast : LogIndex{2};
      progress.flags = forgot.contains(node) ? kProgressForgetful : std::uint8_t{0};
      if (anchored.contains(node)) {
        progress.flags = static_cast<std::uint8_t>(progress.flags | kProgressAnchored);
      }
    }
    return ref();
  }

  const StepInput& input() {
    peers_.clear();
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      if (node != leader_) {
        peers_.push_back({.node = NodeId{node}, .incarnation = Incarnation{1}, .session = 5});
        peers_.back().live = live.contains(node) ? 1 : 0;
      }
    }
    input_.self = NodeId{leader_};
    input_.peer = peers_.data();
    input_.peer_count = static_cast<std::uint32_t>(peers_.size());
    input_.lives_end = lives_end ? 1 : 0;
    return input_;
  }

  MembersPlan plan(const MembersTarget& target) {
    const ShardRef shard = row();
    return plan_members(shard, input(), target);
  }

  ReadmissionPlan plan_back() {
    const ShardRef shard = row();
    return plan_readmission(shard, input());
  }

  bool is_ready(const MembersTarget& target) {
    const ShardRef shard = row();
    return joiners_ready(shard, input(), target);
  }

  SlotMask live_slots() const {
    SlotMask mask = 0;
    for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
      const std::uint32_t node = configuration_.node[slot].value;
      const bool counts = live.contains(node) && !forgot.contains(node);
      mask = static_cast<SlotMask>(counts ? mask | slot_bit(slot) : mask);
    }
    return mask;
  }

  bool can_decide() const { return is_quorum(configuration_, live_slots()); }

  // The living elect a voter, if the leader is none.
  void elect() {
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      const bool fit = votes(node) && live.contains(node) && !forgot.contains(node);
      if (fit && (!votes(leader_) || !live.contains(leader_) || forgot.contains(leader_))) {
        lead(node);
      }
    }
  }

  void decide(const Configuration& next) {
    const bool leaves = next.joint() && next.auto_leave != 0;
    configuration_ = leaves ? leave_joint(next) : next;
  }

  std::set<std::uint32_t> live;
  std::set<std::uint32_t> has_log;
  std::set<std::uint32_t> forgot;
  std::set<std::uint32_t> anchored;
  bool lives_end = false;

 private:
  ShardRef ref() { return ref_of(copy_, ShardId{7}, kReplicaSlots); }

  Configuration configuration_;
  std::uint32_t leader_ = 0;
  RowCopy copy_;
  std::vector<PeerLiveness> peers_;
  StepInput input_;
};

// --- What is planned

TEST(MembersPlan, ANodeThatIsMissingLearnsFirst) {
  Shard shard(voting({1, 2, 3}));
  const MembersPlan plan = shard.plan(voters_of({1, 2, 3, 4}));
  ASSERT_EQ(plan.step, MembersStep::Learners);
  EXPECT_EQ(plan.configuration.voters, 0b111);
  EXPECT_EQ(plan.configuration.learners, 0b1000);
  EXPECT_EQ(plan.configuration.weight[3], 0);
  EXPECT_EQ(plan.configuration.node[3], NodeId{4});
}

TEST(MembersPlan, ALearnerVotesOnceItHasTheLog) {
  Shard shard(with_learner(voting({1, 2, 3}), 4));
  MembersTarget target = voters_of({1, 2, 3});
  add_target(target, {.node = NodeId{4}, .weight = 2, .flags = kVoter});
  shard.has_log.erase(4);
  EXPECT_EQ(shard.plan(target).step, MembersStep::None);
  shard.has_log.insert(4);
  shard.live.erase(4);
  EXPECT_EQ(shard.plan(target).step, MembersStep::None);
  shard.live.insert(4);
  shard.forgot.insert(4);
  EXPECT_EQ(shard.plan(target).step, MembersStep::None);
  shard.forgot.clear();
  const MembersPlan plan = shard.plan(target);
  ASSERT_EQ(plan.step, MembersStep::Voters);
  EXPECT_TRUE(plan.configuration.joint()) << "a weight of 2 is no small change";
  EXPECT_EQ(plan.configuration.weight[3], 2);
}

TEST(MembersPlan, ALearnerOfTheTargetNeverVotes) {
  Shard shard(with_learner(voting({1, 2, 3}), 4));
  MembersTarget target = voters_of({1, 2, 3});
  add_learner(target, 4, kTargetJoining);
  EXPECT_EQ(shard.plan(target).step, MembersStep::None);
  EXPECT_TRUE(joiners_ready(shard.row(), shard.input(), target));
  shard.has_log.erase(4);
  EXPECT_FALSE(joiners_ready(shard.row(), shard.input(), target));
  EXPECT_TRUE(learners_catch_up(shard.row(), shard.input(), target));
  shard.live.erase(4);
  EXPECT_FALSE(learners_catch_up(shard.row(), shard.input(), target));
}

TEST(MembersPlan, AllThatAreReadyGoInOneJointChange) {
  Shard shard(with_learner(with_learner(voting({1, 2, 3}), 4), 5));
  const MembersPlan plan = shard.plan(voters_of({1, 2, 3, 4, 5}));
  ASSERT_EQ(plan.step, MembersStep::Voters);
  EXPECT_EQ(plan.configuration.voters, 0b11111);
  EXPECT_EQ(plan.configuration.voters_outgoing, 0b111);
  EXPECT_EQ(plan.configuration.auto_leave, 1);
}

TEST(MembersPlan, AReplacedVoterStaysUntilItsSuccessorIsReady) {
  Shard shard(with_learner(voting({1, 2, 3}), 4));
  shard.live.erase(3);
  shard.has_log.erase(4);
  EXPECT_EQ(shard.plan(voters_of({1, 2, 4})).step, MembersStep::None);
  shard.has_log.insert(4);
  const MembersPlan plan = shard.plan(voters_of({1, 2, 4}));
  ASSERT_EQ(plan.step, MembersStep::Voters);
  EXPECT_EQ(plan.configuration.voters, 0b1011);
  EXPECT_EQ(plan.configuration.voters_outgoing, 0b111);
  EXPECT_EQ(plan.configuration.learners_next, 0) << "it leaves and does not learn on";
}

TEST(MembersPlan, ALeaderThatLeavesHandsOverFirst) {
  Shard shard(with_learner(voting({1, 2, 3}), 4));
  shard.has_log.erase(2);
  const MembersPlan plan = shard.plan(voters_of({2, 3, 4}));
  ASSERT_EQ(plan.step, MembersStep::Transfer);
  EXPECT_EQ(plan.heir, 2) << "node 2 has not the log";
  shard.lead(3);
  const MembersPlan then = shard.plan(voters_of({2, 3, 4}));
  ASSERT_EQ(then.step, MembersStep::Voters);
  EXPECT_EQ(then.configuration.voters, 0b1110);
}

TEST(MembersPlan, AnOnlyVoterLetsItsSuccessorVoteBeforeItHandsOver) {
  Shard shard(with_learner(voting({1}), 2));
  const MembersTarget target = voters_of({2});
  const MembersPlan plan = shard.plan(target);
  ASSERT_EQ(plan.step, MembersStep::Voters);
  shard.decide(plan.configuration);
  EXPECT_EQ(shard.plan(target).step, MembersStep::Transfer);
  shard.lead(2);
  shard.decide(shard.plan(target).configuration);
  EXPECT_EQ(count_slots(shard.configuration().voters), 1u);
  EXPECT_TRUE(shard.votes(2));
}

TEST(MembersPlan, ADrainingLeaderHandsOverWhileAnotherMayLead) {
  Shard shard(voting({1, 2, 3}));
  MembersTarget target;
  add_target(target, {.node = NodeId{1}, .flags = kDraining});
  add_target(target, {.node = NodeId{2}, .flags = kDraining});
  add_target(target, {.node = NodeId{3}, .flags = kVoter});
  ASSERT_EQ(shard.plan(target).step, MembersStep::Transfer);
  EXPECT_EQ(shard.plan(target).heir, 2);
  shard.live.erase(3);
  EXPECT_EQ(shard.plan(target).step, MembersStep::None) << "it does not go round in circles";
}

TEST(MembersPlan, NobodyIsRemovedWhomTheLivingNeed) {
  Shard shard(voting({1, 2, 3, 4}));
  shard.live.erase(2);
  const MembersTarget target = voters_of({1, 2});
  const MembersPlan plan = shard.plan(target);
  ASSERT_EQ(plan.step, MembersStep::Voters);
  EXPECT_EQ(count_slots(plan.configuration.voters), 3u) << "{1, 2} could decide nothing";
  shard.decide(plan.configuration);
  EXPECT_EQ(shard.plan(target).step, MembersStep::None);
  shard.live.insert(2);
  EXPECT_EQ(shard.plan(target).step, MembersStep::Voters);
}

TEST(MembersPlan, ADeadLearnerMakesRoomForALivingVoter) {
  Shard shard(with_learner(voting({1, 2, 3, 4, 5, 6, 7}), 8));
  shard.live.erase(8);
  const MembersTarget target = voters_of({1, 2, 3, 4, 5, 8, 9});
  const MembersPlan plan = shard.plan(target);
  ASSERT_EQ(plan.step, MembersStep::Learners);
  EXPECT_EQ(plan.configuration.learners, 0);
  shard.decide(plan.configuration);
  shard.decide(shard.plan(target).configuration);
  EXPECT_TRUE(shard.learns(9));
}

TEST(MembersPlan, AMemberThatForgotComesBackFirst) {
  Shard shard(voting({1, 2, 3}));
  shard.lives_end = true;
  shard.forgot.insert(2);
  EXPECT_EQ(shard.plan(voters_of({1, 2, 3, 4})).step, MembersStep::None);
  EXPECT_EQ(shard.plan_back().step, ReadmissionStep::Demote);
}

TEST(MembersPlan, NothingIsProposedBeforeAnEntryOfTheOwnTermIsDecided) {
  Shard shard(voting({1, 2, 3}));
  const ShardRef row = shard.row();
  row.hot().term = Term{4};
  EXPECT_EQ(plan_members(row, shard.input(), voters_of({1, 2, 3, 4})).step, MembersStep::None);
}

TEST(MembersPlan, VotersGetTheWeightsThatAreWantedAsFarAsQuorumsMeet) {
  Shard shard(voting({1, 2, 3}));
  MembersTarget target = voters_of({1, 3});
  add_target(target, {.node = NodeId{2}, .weight = 9, .flags = kVoter});
  std::uint32_t changes = 0;
  for (MembersPlan plan = shard.plan(target); plan.step != MembersStep::None;
       plan = shard.plan(target)) {
    ASSERT_EQ(plan.step, MembersStep::Voters);
    EXPECT_FALSE(plan.configuration.joint());
    EXPECT_TRUE(quorums_meet(shard.configuration(), plan.configuration));
    EXPECT_FALSE(as_wanted(shard.configuration(), target, kReplicaSlots));
    shard.decide(plan.configuration);
    ASSERT_LE(++changes, 9u);
  }
  EXPECT_GT(changes, 1u) << "1:1:1 and 1:9:1 have quorums that do not meet";
  EXPECT_EQ(shard.configuration().weight[1], 9);
  EXPECT_TRUE(as_wanted(shard.configuration(), target, kReplicaSlots));
}

TEST(MembersPlan, NoWeightIsGivenThatTheLivingCannotDecideWith) {
  Shard shard(voting({1, 2, 3}));
  shard.live.erase(2);
  MembersTarget target = voters_of({1, 3});
  add_target(target, {.node = NodeId{2}, .weight = 2, .flags = kVoter});
  EXPECT_EQ(shard.plan(target).step, MembersStep::None) << "2 of 4 votes are no majority";
  shard.live.insert(2);
  EXPECT_EQ(shard.plan(target).configuration.weight[1], 2);
}

// Seven voters and an observer have all slots.
TEST(MembersPlan, AnObserverMakesRoomForOneThatJoins) {
  Shard shard(with_learner(voting({1, 2, 3, 4, 5, 6, 7}), 8));
  MembersTarget target = voters_of({1, 2, 3, 4, 5, 6, 7});
  add_learner(target, 8, 0);
  add_learner(target, 9, kTargetJoining);
  for (int changes = 0; changes < 2; ++changes) {
    const MembersPlan plan = shard.plan(target);
    ASSERT_EQ(plan.step, MembersStep::Learners);
    shard.decide(plan.configuration);
  }
  EXPECT_EQ(slot_of(shard.configuration(), NodeId{8}), kSlotNone);
  EXPECT_NE(slot_of(shard.configuration(), NodeId{9}), kSlotNone);
  EXPECT_EQ(shard.plan(target).step, MembersStep::None);
  EXPECT_TRUE(as_wanted(shard.configuration(), target, kReplicaSlots));
}

// World 7540: a node that leaves lost its slot of the views to one that joins, went on leading
// shards by a view that was old for ever, and neither could come to an end.
TEST(MembersPlan, WhoJoinsWaitsForASlotOfOneThatLeaves) {
  Shard shard(with_learner(voting({1, 2, 3, 4, 5, 6, 7}), 8));
  MembersTarget target = voters_of({1, 2, 3, 4, 5, 6, 7});
  add_learner(target, 8, kTargetLeaves);
  add_learner(target, 9, kTargetJoining);
  EXPECT_EQ(shard.plan(target).step, MembersStep::None);
  EXPECT_TRUE(as_wanted(shard.configuration(), target, kReplicaSlots));
  EXPECT_FALSE(shard.is_ready(target)) << "it would be promoted without a slot";
  MembersTarget gone = voters_of({1, 2, 3, 4, 5, 6, 7});
  add_learner(gone, 9, kTargetJoining);
  for (int changes = 0; changes < 2; ++changes) {
    const MembersPlan plan = shard.plan(gone);
    ASSERT_EQ(plan.step, MembersStep::Learners);
    shard.decide(plan.configuration);
  }
  EXPECT_NE(slot_of(shard.configuration(), NodeId{9}), kSlotNone);
  EXPECT_TRUE(shard.is_ready(gone));
}

// The slot that it had as a voter is free for a moment.
TEST(MembersPlan, WhoLeavesGetsASlotBeforeWhoJoins) {
  Shard shard(voting({1, 2, 3, 4, 5, 6, 7}));
  MembersTarget target = voters_of({1, 2, 3, 4, 5, 6, 7});
  add_learner(target, 9, kTargetJoining);
  add_learner(target, 8, kTargetLeaves);
  const MembersPlan plan = shard.plan(target);
  ASSERT_EQ(plan.step, MembersStep::Learners);
  EXPECT_NE(slot_of(plan.configuration, NodeId{8}), kSlotNone);
  EXPECT_EQ(slot_of(plan.configuration, NodeId{9}), kSlotNone);
}

// World 7163: it was away when it lost its slot to one that joins, and came back.
TEST(MembersPlan, WhoJoinsGivesItsSlotToOneThatLeaves) {
  Configuration members = voting({1, 4, 6, 5});
  for (const std::uint32_t node : {7u, 8u, 9u, 10u}) {
    members = with_learner(members, node);
  }
  Shard shard(members);
  MembersTarget target = voters_of({1, 4, 6});
  for (const std::uint32_t node : {8u, 9u, 10u}) {
    add_learner(target, node, kTargetJoining);
  }
  for (const std::uint32_t node : {2u, 5u, 7u}) {
    add_learner(target, node, kTargetLeaves);
  }
  int changes = 0;
  for (MembersPlan plan = shard.plan(target); plan.step != MembersStep::None && changes < 16;
       plan = shard.plan(target), ++changes) {
    shard.decide(plan.configuration);
  }
  ASSERT_LT(changes, 16);
  for (const std::uint32_t node : {2u, 5u, 7u}) {
    EXPECT_TRUE(shard.learns(node)) << node;
  }
  EXPECT_EQ(count_slots(shard.configuration().learners), 5u) << "two that join, and three leave";
  EXPECT_TRUE(as_wanted(shard.configuration(), target, kReplicaSlots));
  EXPECT_FALSE(shard.is_ready(target));
}

TEST(MembersPlan, WithoutATargetNothingIsWanted) {
  Shard shard(with_learner(voting({1, 2, 3}), 4));
  EXPECT_EQ(shard.plan({}).step, MembersStep::None);
}

// --- Where it leads

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
