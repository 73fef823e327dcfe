// The simulated world: seeds that once failed, bit-exact replay, and proof that the judge can say
// no.
#include "chaos/sim/sim_world.h"
#include "tests/source_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace gcoord::chaos {
namespace {

using consensus::scenario::LeaseHolder;

SimOptions small_world(std::uint64_t seed) {
  SimOptions options = options_of_seed(seed);
  options.shard_count = 4;
  options.chaos_ticks = 400;
  return options;
}

std::vector<std::uint64_t> kept_seeds() {
  std::ifstream file(in_sources("tests/seeds.txt"));
  std::vector<std::uint64_t> seeds;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::uint64_t seed = 0;
    if (words >> seed) {
      seeds.push_back(seed);
    }
  }
  return seeds;
}

TEST(Simulator, KeptSeedsBreakNothing) {
  const std::vector<std::uint64_t> seeds = kept_seeds();
  ASSERT_FALSE(seeds.empty());
  for (const std::uint64_t seed : seeds) {
    EXPECT_EQ(SimWorld(options_of_seed(seed)).run().violation, "") << "seed " << seed;
  }
}

TEST(Simulator, OneSeedIsOneRun) {
  const SimResult first = SimWorld(small_world(7)).run();
  const SimResult second = SimWorld(small_world(7)).run();
  EXPECT_EQ(first.digest, second.digest);
  EXPECT_EQ(first.applied, second.applied);
  EXPECT_NE(first.digest, SimWorld(small_world(8)).run().digest);
}

TEST(Simulator, MembersComeAndGo) {
  SimCounts counts;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SimOptions options = small_world(seed);
    change_members(options);
    const SimResult result = SimWorld(options).run();
    EXPECT_EQ(result.violation, "") << "seed " << seed;
    counts.targets += result.counts.targets;
    counts.member_changes += result.counts.member_changes;
    counts.member_transfers += result.counts.member_transfers;
    counts.snapshots += result.counts.snapshots;
  }
  EXPECT_GT(counts.targets, 0u);
  EXPECT_GT(counts.member_changes, counts.targets);
  EXPECT_GT(counts.member_transfers, 0u);
  EXPECT_GT(counts.snapshots, 0u);
}

TEST(Simulator, FaultsAndDecisionsHappen) {
  SimCounts counts;
  std::uint64_t applied = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const SimResult result = SimWorld(options_of_seed(seed)).run();
    applied += result.applied;
    counts.partitions += result.counts.partitions;
    counts.restarts += result.counts.restarts;
    counts.pauses += result.counts.pauses;
    counts.majority_restarts += result.counts.majority_restarts;
    counts.transfer_cuts += result.counts.transfer_cuts;
    counts.reconfigurations += result.counts.reconfigurations;
    counts.transfers += result.counts.transfers;
    counts.snapshots += result.counts.snapshots;
  }
  EXPECT_GT(applied, 1000u);
  EXPECT_GT(counts.partitions, 0u);
  EXPECT_GT(counts.restarts, 0u);
  EXPECT_GT(counts.pauses, 0u);
  EXPECT_GT(counts.majority_restarts, 0u);
  EXPECT_GT(counts.transfer_cuts, 0u);
  EXPECT_GT(counts.reconfigurations, 0u);
  EXPECT_GT(counts.transfers, 0u);
  EXPECT_GT(counts.snapshots, 0u);
}

SimOptions astray(std::uint64_t seed) {
  SimOptions options = options_of_seed(seed);
  options.drift_ppm = 600'000;  // One clock may run four times as fast as another.
  return options;
}

TEST(Simulator, R1ReadsByARoundNeedNoClock) {
  std::uint64_t quorum_reads = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SimOptions options = astray(seed);
    options.leases_judged = false;
    const SimResult result = SimWorld(options).run();
    EXPECT_EQ(result.violation, "") << "seed " << seed;
    quorum_reads += result.counts.quorum_reads;
  }
  EXPECT_GT(quorum_reads, 1000u);
}

TEST(Simulator, LeasesDoNeedClocksWithinTheirMargin) {
  std::uint32_t broken = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    broken += SimWorld(astray(seed)).run().violation.empty() ? 0u : 1u;
  }
  EXPECT_GT(broken, 0u);
}

TEST(Simulator, MemoryModeOutlivesRestarts) {
  SimCounts counts;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const SimResult result = SimWorld(options_of_seed(seed, consensus::Durability::Memory)).run();
    EXPECT_EQ(result.violation, "") << "seed " << seed;
    counts.restarts += result.counts.restarts;
    counts.demotions += result.counts.demotions;
    counts.anchors += result.counts.anchors;
    counts.promotions += result.counts.promotions;
    counts.shards_lost += result.counts.shards_lost;
  }
  EXPECT_GT(counts.restarts, 0u);
  EXPECT_GT(counts.demotions, 0u);
  EXPECT_GT(counts.anchors, 0u);
  EXPECT_GT(counts.promotions, 0u);
  EXPECT_GT(counts.shards_lost, 0u);
}

TEST(Simulator, LostDisksAndOldImagesComeBack) {
  SimCounts counts;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SimOptions options = options_of_seed(seed);
    lose_disks(options);
    const SimResult result = SimWorld(options).run();
    EXPECT_EQ(result.violation, "") << "seed " << seed;
    counts.lost_disks += result.counts.lost_disks;
    counts.old_images += result.counts.old_images;
    counts.demotions += result.counts.demotions;
    counts.anchors += result.counts.anchors;
    counts.promotions += result.counts.promotions;
  }
  EXPECT_GT(counts.lost_disks, 40u);
  EXPECT_GT(counts.old_images, 40u);
  EXPECT_GT(counts.demotions, 0u);
  EXPECT_GT(counts.anchors, 0u);
  EXPECT_GT(counts.promotions, 0u);
}

TEST(Simulator, LostDisksThatNobodyNoticesAreCaught) {
  std::uint32_t caught = 0;
  for (std::uint64_t seed = 1; seed <= 40 && caught == 0; ++seed) {
    SimOptions options = options_of_seed(seed);
    lose_disks(options);
    options.forgets_unawares = true;
    caught += SimWorld(options).run().violation.empty() ? 0 : 1;
  }
  EXPECT_GT(caught, 0u);
}

// A voter of an earlier life that goes on as if nothing had happened loses decisions: the judge
// must see it.
TEST(Simulator, NodesThatForgetUnawaresAreCaught) {
  std::uint32_t caught = 0;
  for (std::uint64_t seed = 1; seed <= 40 && caught == 0; ++seed) {
    SimOptions options = options_of_seed(seed, consensus::Durability::Memory);
    options.forgets_unawares = true;
    caught += SimWorld(options).run().violation.empty() ? 0 : 1;
  }
  EXPECT_GT(caught, 0u);
}

// Without a drift margin the lease of a slow clock outlives the promise of a fast one: the judge
// must see it.
TEST(Simulator, LeasesWithoutDriftMarginAreCaught) {
  std::uint32_t caught = 0;
  for (std::uint64_t seed = 1; seed <= 40 && caught == 0; ++seed) {
    SimOptions options = options_of_seed(seed);
    options.timing.lease_margin_ticks = 0;
    options.drift_ppm = 400'000;
    caught += SimWorld(options).run().violation.empty() ? 0 : 1;
  }
  EXPECT_GT(caught, 0u);
}

TEST(SimChecker, TwoLeadersOfOneTermAreCaught) {
  SimChecker checker(1);
  checker.on_elected(0, {Term{3}, NodeId{1}}, LogIndex{});
  EXPECT_FALSE(checker.violated());
  checker.on_elected(0, {Term{3}, NodeId{2}}, LogIndex{});
  EXPECT_THAT(checker.violation(), testing::HasSubstr("I1"));
}

TEST(SimChecker, TwoVotesInOneTermAreCaught) {
  SimChecker checker(1);
  checker.on_vote_sent(0, {NodeId{1}, Incarnation{1}, Term{3}, NodeId{2}});
  checker.on_vote_sent(0, {NodeId{1}, Incarnation{1}, Term{3}, NodeId{2}});
  EXPECT_FALSE(checker.violated());
  checker.on_vote_sent(0, {NodeId{1}, Incarnation{1}, Term{3}, NodeId{3}});
  EXPECT_THAT(checker.violation(), testing::HasSubstr("I2"));
}

// In memory mode a life that was re-admitted is another voter than the one before it.
TEST(SimChecker, VotesOfTwoLivesAreVotesOfTwoVoters) {
  SimChecker checker(1);
  checker.on_vote_sent(0, {NodeId{1}, Incarnation{1}, Term{3}, NodeId{2}});
  checker.on_vote_sent(0, {NodeId{1}, Incarnation{2}, Term{3}, NodeId{3}});
  EXPECT_FALSE(checker.violated());
}

TEST(SimChecker, LogsThatDifferAtOneIndexAndTermAreCaught) {
  SimChecker checker(1);
  checker.on_entry(0, LogIndex{5}, {.term = Term{2}, .chain = 77});
  checker.on_entry(0, LogIndex{5}, {.term = Term{3}, .chain = 78});
  EXPECT_FALSE(checker.violated());
  checker.on_entry(0, LogIndex{5}, {.term = Term{2}, .chain = 79});
  EXPECT_THAT(checker.violation(), testing::HasSubstr("I4"));
}

TEST(SimChecker, ALeaderWithoutADecidedEntryIsCaught) {
  SimChecker checker(1);
  checker.on_commit(0, LogIndex{9}, Term{2});
  checker.on_elected(0, {Term{3}, NodeId{1}}, LogIndex{8});
  EXPECT_THAT(checker.violation(), testing::HasSubstr("I5"));
}

TEST(SimChecker, TwoStatesAtOneIndexAreCaught) {
  SimChecker checker(1);
  checker.on_apply(0, NodeId{1}, LogIndex{4}, 1);
  checker.on_apply(0, NodeId{2}, LogIndex{4}, 2);
  EXPECT_THAT(checker.violation(), testing::HasSubstr("I6"));
}

TEST(SimChecker, TwoLeaseHoldersAndABlindOneAreCaught) {
  SimChecker two(1);
  two.on_leases(0, std::vector<LeaseHolder>{{NodeId{1}, {}}, {NodeId{2}, {}}});
  EXPECT_THAT(two.violation(), testing::HasSubstr("I12"));
  SimChecker blind(1);
  blind.on_commit(0, LogIndex{5}, Term{1});
  blind.on_leases(0, std::vector<LeaseHolder>{{NodeId{1}, LogIndex{4}}});
  EXPECT_THAT(blind.violation(), testing::HasSubstr("I12"));
}

TEST(SimChecker, AReadOlderThanItsRoundIsCaught) {
  SimChecker checker(1);
  checker.on_read(0, {NodeId{1}, 7, LogIndex{5}, LogIndex{5}});
  EXPECT_FALSE(checker.violated());
  checker.on_read(0, {NodeId{1}, 8, LogIndex{4}, LogIndex{5}});
  EXPECT_THAT(checker.violation(), testing::HasSubstr("I9"));
}

}  // namespace
}  // namespace gcoord::chaos
