// Memory mode of the turn that stays on its device: a node that ended has forgotten what it
// promised and is taken back, row by row, by the turns of the others. By the host twin of three
// nodes. In every test no entry is decided twice (ResidentWorld::history).
#include "server/device_turn/host_events.h"
#include "server/device_turn/row.h"
#include "tests/server/resident/resident_returns.h"

#include <string>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kShards = ResidentWorld::kShards;
constexpr std::uint64_t kAllVote = ResidentWorld::kAllVote;

struct ForgetfulWorld : ResidentWorld {
  explicit ForgetfulWorld(std::uint64_t seed) : ResidentWorld(seed) { turns(4000); }

  // The process of a node ends with all that it knew, and another one begins and is found.
  void forget(std::uint32_t n) {
    lose(n);
    find(n);
  }

  void find(std::uint32_t n) {
    for (std::uint32_t peer = 0; peer < kTurnNodes; ++peer) {
      if (peer != n) {
        rejoin(n, peer);
      }
    }
  }

  // Another process begins, but nobody finds it yet.
  void lose(std::uint32_t n) {
    restart(n, [](const ResidentView& view) {
      for (std::uint32_t row = 0; row < kShards; ++row) {
        start_row(view, row, RowMemory::Forgotten);
      }
    });
    nodes[n].leaders->begin_forgotten();
  }
};

TEST(ResidentReadmit, ANodeThatForgotBecomesAVoterAgainAndCounts) {
  ForgetfulWorld world(31);
  return_and_count(world,
                   {.rounds = 3, .missed_turns = 6000, .needed_turns = 6000, .rest_turns = 3000},
                   [](std::uint32_t) {});
}

TEST(ResidentReadmit, UntilItIsTakenBackItNeitherVotesNorCounts) {
  ForgetfulWorld world(32);
  return_to_the_leader_alone(world, [&world](std::uint32_t leader, std::uint32_t victim) {
    for (std::uint32_t each = 0; each < kShards; ++each) {
      EXPECT_EQ(world.leader_of(ShardId{each}), kTurnNodes) << each;
      EXPECT_LE(world.nodes[victim].leaders->known(ShardId{each}).term,
                world.nodes[leader].leaders->known(ShardId{each}).term)
          << "a campaign of its own";
    }
  });
}

// Found on a GPU: rows whose log was compacted stayed as they were until somebody asked for
// something.
TEST(ResidentReadmit, ARowWhoseLogWasCompactedComesBackByASnapshot) {
  for (std::uint32_t victim = 0; victim < kTurnNodes; ++victim) {
    ForgetfulWorld world(40 + victim);
    return_by_snapshot(world, victim);
    EXPECT_TRUE(world.nodes[victim].absent[shard_of_name("n0").value]);
    world.work(12);
  }
}

TEST(ResidentReadmit, TwoRestartsInARowEndWhole) {
  for (std::uint32_t between = 0; between < 2400; between += 120) {
    ForgetfulWorld world(100 + between);
    world.work(4);
    world.forget(1);
    world.turns(between);
    world.forget(1);
    world.heal();
    world.work(12);
  }
}

TEST(ResidentReadmit, LeadersThatChangeMeanwhileGoOnWithIt) {
  for (std::uint32_t between = 0; between < 2000; between += 100) {
    ForgetfulWorld world(200 + between);
    world.work(4);
    world.forget(2);
    world.turns(between);
    // Who leads is away for longer than it is trusted, so nobody leads until it is back.
    world.paused = between / 100 % 2;
    world.turns(5000);
    world.paused = kTurnNodes;
    world.heal();
    world.work(12);
  }
}

TEST(ResidentReadmit, AMajorityThatForgotStaysSilent) {
  ForgetfulWorld world(33);
  world.work(12);
  std::size_t decided = 0;
  for (const auto& each : world.history) {
    decided += each.size();
  }
  world.lose(0);
  world.lose(1);
  world.rejoin(0, 1);
  world.rejoin(0, 2);
  world.rejoin(1, 2);
  world.turns(30000);
  std::size_t later = 0;
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    later += world.history[shard].size();
    EXPECT_EQ(world.leader_of(ShardId{shard}), kTurnNodes) << shard;
    EXPECT_EQ(world.nodes[0].told[shard], LogIndex{}) << "decided by nobody who remembers";
  }
  EXPECT_EQ(later, decided);
}

// One node at a time forgets, at any moment, while clients ask, nodes pause, hosts stand still and
// leaders hand over.
TEST(ResidentReadmit, RestartsAtRandomMomentsLoseNothingThatWasDecided) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    ForgetfulWorld world(300 + seed);
    std::uint64_t draws = 0;
    const auto draw = [&draws, seed](std::uint64_t bound) {
      return static_cast<std::uint32_t>(mix64(seed << 32 | ++draws) % bound);
    };
    for (std::uint32_t round = 0; round < 6; ++round) {
      world.work(1 + draw(6));
      const std::uint32_t victim = draw(kTurnNodes);
      world.forget(victim);
      for (std::uint32_t k = 0; k < 12; ++k) {
        const std::uint32_t other = draw(kTurnNodes);
        world.paused = draw(4) == 0 ? other : kTurnNodes;
        world.stalled = draw(4) == 0 ? other : kTurnNodes;
        world.hand_over(ShardId{draw(kShards)}, NodeId{1 + draw(kTurnNodes)});
        world.turns(draw(600));
      }
      world.paused = kTurnNodes;
      world.stalled = kTurnNodes;
      world.heal();
    }
    world.work(12);
  }
}

// An entry that says it is a configuration, and none in the log: a client's, and a peer's.
TEST(ResidentReadmit, ClientsConfigureNothing) {
  ForgetfulWorld world(34);
  const ShardId shard{3};
  consensus::Configuration alone;
  alone.node[0] = NodeId{1};
  alone.weight[0] = 1;
  alone.voters = 1;
  const LogIndex before = world.nodes[world.leader_of(shard)].told[shard.value];
  const Answer answer = world.ask(shard, {LockTurnService::configuration_entry(alone)});
  EXPECT_EQ(answer.reply.verdict, TurnVerdict::Refused);
  EXPECT_EQ(answer.reply.detail, static_cast<std::uint32_t>(IngressFault::Kind));
  world.turns(900);
  for (const auto& node : world.nodes) {
    EXPECT_EQ(ForgetfulWorld::standing(node, shard), kAllVote);
  }
  EXPECT_EQ(world.nodes[world.leader_of(shard)].told[shard.value], before);
}

}  // namespace
}  // namespace gcoord::server
