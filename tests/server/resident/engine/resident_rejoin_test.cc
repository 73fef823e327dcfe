// Nodes of the resident turn in durable mode whose data directory was lost: what they promised is
// forgotten, so they neither vote nor count until the turns of the others have taken them back, row
// by row (docs/adr/0025, 0069). By the host twin of three nodes. In every test no entry is decided
// twice (ResidentWorld::history).
#include "tests/server/resident/engine/resident_durable_world.h"
#include "tests/server/resident/resident_returns.h"

#include <string>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kShards = ResidentWorld::kShards;

struct ReplacedWorld : DurableWorld {
  explicit ReplacedWorld(std::uint64_t seed) : DurableWorld(seed) { turns(6000); }
};

TEST(ResidentRejoin, ANodeWithoutItsDirectoryBecomesAVoterAgainAndCounts) {
  ReplacedWorld world(61);
  return_and_count(world,
                   {.rounds = 4, .missed_turns = 9000, .needed_turns = 9000, .rest_turns = 6000},
                   [&world](std::uint32_t victim) { EXPECT_FALSE(world.rejoining[victim]); });
  world.expect_one_history();
}

// An entry is decided by the leader and the victim alone; then the victim's disk is lost, and the
// leader is away. Who is left, a witness that never heard of the entry and an empty directory, must
// elect nobody: whoever they elected would decide something else in its place (fault 24 and I5 of
// docs/internals/faults.md).
TEST(ResidentRejoin, WhatItAcknowledgedBeforeIsNotVotedAway) {
  ReplacedWorld world(62);
  world.work(12);
  const ShardId shard = shard_of_name("a");
  const std::uint32_t leader = world.leader_of(shard);
  ASSERT_LT(leader, kTurnNodes);
  const std::uint32_t witness = (leader + 1) % kTurnNodes;
  const std::uint32_t victim = (leader + 2) % kTurnNodes;
  world.paused = witness;
  const Answer decided = world.ask(shard, acquire("a", 7, 1));
  ASSERT_EQ(decided.reply.verdict, TurnVerdict::Committed);
  EXPECT_LT(world.stable[witness][shard.value].last(), decided.reply.index);
  world.lose(victim);
  world.paused = leader;
  world.find(victim);
  world.turns(30000);
  for (std::uint32_t each = 0; each < kShards; ++each) {
    EXPECT_EQ(world.leader_of(ShardId{each}), kTurnNodes) << each;
    EXPECT_EQ(world.stable[victim][each].vote, NodeId{}) << "a vote of who has forgotten";
  }
  world.paused = kTurnNodes;
  world.heal();
  world.work(12);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    EXPECT_GT(world.nodes[n].told[shard.value], decided.reply.index) << n;
  }
  world.expect_one_history();
}

TEST(ResidentRejoin, UntilItIsTakenBackItDoesNotCount) {
  ReplacedWorld world(63);
  return_to_the_leader_alone(world, [&world](std::uint32_t, std::uint32_t victim) {
    EXPECT_TRUE(world.rejoining[victim]);
  });
}

// Rows whose log was compacted come by a snapshot, and what is stored of it says who votes.
TEST(ResidentRejoin, WhoVotesComesWithASnapshotAndIsThereAfterARestart) {
  for (std::uint32_t victim = 0; victim < kTurnNodes; ++victim) {
    ReplacedWorld world(64 + victim);
    return_by_snapshot(world, victim);
    EXPECT_GT(world.stable[victim][shard_of_name("n0").value].floor, LogIndex{});
    world.kill(victim);
    world.find(victim);
    world.turns(6000);
    world.heal();
    world.work(12);
    world.expect_one_history();
  }
}

// One that knows nothing of the return takes the entries of a leader that does, and is not stuck
// behind them: it may be cut off from the one that is back, and is needed for every decision.
TEST(ResidentRejoin, APeerThatNeverHeardOfTheReturnFollowsAndRestarts) {
  ReplacedWorld world(70);
  world.work(12);
  const std::uint32_t victim = 2;
  world.lose(victim);
  world.rejoin(victim, 0);
  world.turns(9000);
  const auto wholly = [&world](std::uint32_t n) { return world.whole_rows(n); };
  EXPECT_GT(wholly(0), 0u);
  EXPECT_FALSE(world.rejoining[victim] && world.whole_rows(victim) == kShards);
  world.work(24);
  world.kill(1);
  world.rejoin(1, 0);
  world.turns(9000);
  world.work(24);
  world.rejoin(1, victim);
  world.heal();
  EXPECT_FALSE(world.rejoining[victim]);
  world.work(12);
  world.expect_one_history();
}

// Directories are lost one at a time, and any process is killed at any moment of a return.
TEST(ResidentRejoin, KillsAtRandomMomentsOfAReturnLoseNothingThatWasDecided) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    ReplacedWorld world(400 + seed);
    std::uint64_t draws = 0;
    const auto draw = [&draws, seed](std::uint64_t bound) {
      return static_cast<std::uint32_t>(mix64(seed << 32 | ++draws) % bound);
    };
    for (std::uint32_t round = 0; round < 4; ++round) {
      world.work(1 + draw(6));
      const std::uint32_t victim = draw(kTurnNodes);
      world.lose(victim);
      world.turns(draw(4000));
      world.find(victim);
      for (std::uint32_t k = 0; k < 6; ++k) {
        world.turns(draw(1500));
        const std::uint32_t other = draw(kTurnNodes);
        world.kill(other);
        world.turns(draw(900));
        world.find(other);
        world.hand_over(ShardId{draw(kShards)}, NodeId{1 + draw(kTurnNodes)});
      }
      world.heal();
      EXPECT_FALSE(world.rejoining[victim]);
    }
    world.work(12);
    world.expect_one_history();
  }
}

}  // namespace
}  // namespace gcoord::server
