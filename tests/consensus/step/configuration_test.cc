#include "consensus/step/configuration.h"

#include "consensus/step/quorum.h"
#include "tests/consensus/random_values.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gcoord::consensus {
namespace {

Configuration voters_of(SlotMask voters) {
  Configuration configuration;
  configuration.voters = voters;
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    if (has_slot(voters, slot)) {
      configuration.node[slot] = NodeId{slot + 1};
      configuration.weight[slot] = 1;
    }
  }
  return configuration;
}

RC_GTEST_PROP(Configuration, MadeByTheRulesIsWellFormed, ()) {
  RC_ASSERT(well_formed(any_configuration(), kReplicaSlots));
}

RC_GTEST_PROP(Configuration, LeftJointIsSimpleWellFormedAndMayFollow, ()) {
  const Configuration joint = any_joint();
  const Configuration simple = leave_joint(joint);
  RC_ASSERT(!simple.joint());
  RC_ASSERT(well_formed(simple, kReplicaSlots));
  RC_ASSERT(may_follow(joint, simple));
  RC_ASSERT(simple.voters == joint.voters);
  RC_ASSERT(quorums_meet(joint, simple));
}

RC_GTEST_PROP(Configuration, MayBeEnteredJointlyWhateverTheOtherHalf, ()) {
  const Configuration before = any_simple();
  Configuration after = any_configuration_with(before.voters, 3);
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    const bool voted = has_slot(before.voters, slot);
    after.weight[slot] = voted ? before.weight[slot] : after.weight[slot];
  }
  RC_ASSERT(may_follow(before, after));
  RC_ASSERT(quorums_meet(before, after));
}

// The heart of a configuration change: no two quorums, one before and one after it, may be
// disjoint.
RC_GTEST_PROP(Configuration, OfEqualWeightsChangesByOneVoterAtATime, ()) {
  const Configuration before = any_simple(1);
  Configuration after = any_simple(1);
  after.voters = static_cast<SlotMask>(before.voters ^ slot_bit(any_from(0u, 7u)));
  after.learners = static_cast<SlotMask>(after.learners & ~after.voters);
  fill_slots(after, 1);
  RC_ASSERT(may_follow(before, after));
  RC_ASSERT(after.voters == 0 || quorums_meet(before, after));
}

RC_GTEST_PROP(Configuration, NeverGivesASlotToAnotherNodeInOneStep, ()) {
  const Configuration before = any_configuration();
  Configuration after = leave_joint(before);
  const std::uint32_t slot = any_from(0u, 7u);
  after.node[slot] = NodeId{100};
  RC_ASSERT(may_follow(before, after) == !has_slot(after.members(), slot));
}

TEST(Configuration, RefusesWhatCannotBe) {
  const Configuration good = voters_of(0b111);
  EXPECT_TRUE(well_formed(good, 3));
  EXPECT_FALSE(well_formed(good, 2));
  EXPECT_FALSE(well_formed(Configuration{}, 8));
  Configuration twice = good;
  twice.node[1] = twice.node[0];
  EXPECT_FALSE(well_formed(twice, 8));
  Configuration weightless = good;
  weightless.weight[2] = 0;
  EXPECT_FALSE(well_formed(weightless, 8));
  Configuration voting_learner = good;
  voting_learner.learners = 0b001;
  EXPECT_FALSE(well_formed(voting_learner, 8));
  Configuration stray = good;
  stray.node[5] = NodeId{9};
  EXPECT_FALSE(well_formed(stray, 8));
}

TEST(Configuration, TakesTwoVotersInOneStepOnlyJointly) {
  const Configuration before = voters_of(0b00111);
  EXPECT_TRUE(may_follow(before, voters_of(0b01111)));
  EXPECT_TRUE(may_follow(before, voters_of(0b00011)));
  EXPECT_FALSE(may_follow(before, voters_of(0b11111)));
  EXPECT_FALSE(may_follow(before, voters_of(0b11100)));
  Configuration joint = voters_of(0b11111);
  joint.voters = 0b11100;
  joint.voters_outgoing = before.voters;
  EXPECT_TRUE(may_follow(before, joint));
  EXPECT_FALSE(may_follow(joint, before));
  EXPECT_TRUE(may_follow(joint, leave_joint(joint)));
}

TEST(Configuration, OfTheSameVotersMayHaveOtherWeights) {
  const Configuration before = voters_of(0b00111);
  Configuration after = before;
  after.weight[1] = 2;
  EXPECT_TRUE(may_follow(before, after));
  EXPECT_TRUE(quorums_meet(before, after));
  after.weight[1] = 9;
  EXPECT_FALSE(quorums_meet(before, after));
  Configuration joint = voters_of(0b01111);
  joint.voters = 0b01110;
  joint.voters_outgoing = before.voters;
  EXPECT_TRUE(may_follow(before, joint));
  joint.weight[1] = 2;
  EXPECT_FALSE(may_follow(before, joint)) << "a slot has one weight in both halves";
}

// A vote more or less of one voter never parts two quorums, whatever the weights.
RC_GTEST_PROP(Configuration, QuorumsMeetWhenAWeightChangesByOne, ()) {
  const Configuration before = any_simple(5);
  Configuration after = before;
  const std::uint32_t slot = any_from(0u, 7u);
  RC_PRE(has_slot(before.voters, slot));
  after.weight[slot] = static_cast<std::uint8_t>(before.weight[slot] + 1);
  RC_ASSERT(may_follow(before, after));
  RC_ASSERT(quorums_meet(before, after));
  RC_ASSERT(quorums_meet(after, before));
}

TEST(Configuration, OfAHeavyNewcomerHasQuorumsThatDoNotMeet) {
  Configuration after = voters_of(0b1111);
  after.weight[3] = 3;
  EXPECT_FALSE(quorums_meet(voters_of(0b0111), after));
}

}  // namespace
}  // namespace gcoord::consensus
