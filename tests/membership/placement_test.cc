// Which node should lead what, as arithmetic.
#include "membership/placement.h"

#include <gtest/gtest.h>

namespace gcoord::membership {
namespace {

consensus::Configuration three_voters() {
  consensus::Configuration configuration{};
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    configuration.node[slot] = NodeId{slot + 1};
    configuration.weight[slot] = 1;
  }
  configuration.voters = 7;
  return configuration;
}

TEST(Placement, ShardsPreferTheVotersInTurn) {
  const consensus::Configuration configuration = three_voters();
  EXPECT_EQ(preferred_leader(configuration, ShardId{0}), NodeId{1});
  EXPECT_EQ(preferred_leader(configuration, ShardId{4}), NodeId{2});
  EXPECT_EQ(preferred_leader(configuration, ShardId{5}), NodeId{3});
}

// Node 9 took the place of node 2, in another slot, and gets its turn.
TEST(Placement, VotersHaveTheirTurnsWhereSlotsAreFree) {
  consensus::Configuration configuration = three_voters();
  configuration.node[1] = NodeId{};
  configuration.node[3] = NodeId{9};
  configuration.weight[3] = 1;
  configuration.voters = 0b1101;
  EXPECT_EQ(preferred_leader(configuration, ShardId{3}), NodeId{1});
  EXPECT_EQ(preferred_leader(configuration, ShardId{4}), NodeId{3});
  EXPECT_EQ(preferred_leader(configuration, ShardId{5}), NodeId{9});
}

TEST(Placement, NobodyIsPreferredWhereNobodyVotes) {
  EXPECT_EQ(preferred_leader(consensus::Configuration{}, ShardId{3}), NodeId{0});
}

TEST(Placement, LearnerOnItsWayBackKeepsItsTurnAndGetsNothingYet) {
  consensus::Configuration configuration = three_voters();
  configuration.voters = 3;
  configuration.learners = 4;
  EXPECT_EQ(elector_count(configuration), 3u);
  EXPECT_EQ(preferred_leader(configuration, ShardId{1}), NodeId{2});
  EXPECT_EQ(preferred_leader(configuration, ShardId{2}), NodeId{0});
}

TEST(Placement, LearnerWithoutWeightHasNoTurn) {
  consensus::Configuration configuration = three_voters();
  configuration.voters = 3;
  configuration.learners = 4;
  configuration.weight[2] = 0;
  EXPECT_EQ(elector_count(configuration), 2u);
}

TEST(Placement, NodeMayLeadATwentiethMoreThanItsShare) {
  EXPECT_EQ(fair_share(100, 3), 34u);
  EXPECT_FALSE(leads_too_much(35, 100, 3));
  EXPECT_TRUE(leads_too_much(36, 100, 3));
}

TEST(Placement, AllowanceDoublesWhereAllWereTakenOverAndHalvesWhereNot) {
  EXPECT_EQ(next_allowance({.allowed = 4096, .handed_over = 4096, .gone = 4096}), 8192u);
  EXPECT_EQ(next_allowance({.allowed = 32768, .handed_over = 32768, .gone = 40000}), 32768u);
  EXPECT_EQ(next_allowance({.allowed = 16384, .handed_over = 16384, .gone = 8191}), 8192u);
  EXPECT_EQ(next_allowance({.allowed = 4096, .handed_over = 4096, .gone = 0}), 4096u);
}

TEST(Placement, AllowanceStaysWhereNothingOrLessThanAllowedWasHandedOver) {
  EXPECT_EQ(next_allowance({.allowed = 8192, .handed_over = 0, .gone = 9}), 8192u);
  EXPECT_EQ(next_allowance({.allowed = 8192, .handed_over = 100, .gone = 100}), 8192u);
}

}  // namespace
}  // namespace gcoord::membership
