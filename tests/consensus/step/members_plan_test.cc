// What a leader proposes next, so that its shard comes to the members that are wanted.
#include "consensus/step/members_plan.h"

#include "tests/consensus/step/members_shard.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::consensus {
namespace {

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

}  // namespace
}  // namespace gcoord::consensus
