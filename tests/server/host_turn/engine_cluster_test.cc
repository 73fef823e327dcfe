#include "tests/server/host_turn/engine_cluster.h"

#include "server/interfaces/log_limits.h"

namespace gcoord::server {
namespace {

TEST(EngineCluster, OneNodeDecidesAlone) {
  EngineCluster cluster(1, 4);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint64_t cookie = cluster.propose(1, 2, "alone");
  cluster.settle();
  EXPECT_TRUE(cluster.decided(1, cookie));
  EXPECT_EQ(cluster.service(1).commands(ShardId{2}), std::vector<std::string>{"alone"});
}

TEST(EngineCluster, ThreeNodesElectALeaderOfEveryShardAndSpreadThem) {
  EngineCluster cluster(3, 30);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  for (std::uint32_t id = 1; id <= 3; ++id) {
    EXPECT_GT(cluster.engine(id).view().leader_count, 5u) << "node " << id;
  }
}

// Nobody asks for a shard that another node should lead, and nobody asks twice.
TEST(EngineCluster, AColdStartCostsOneCampaignForEachShardAndEachNodeGetsItsOwn) {
  constexpr std::uint32_t kShards = 300;
  EngineCluster cluster(3, kShards);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
  cluster.run_ms(3000);
  std::uint64_t elections = 0;
  for (std::uint32_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(cluster.engine(id).view().leader_count, kShards / 3) << "node " << id;
    elections += cluster.count(id, "gcoord_server_elections_won_total");
  }
  EXPECT_EQ(elections, kShards);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(cluster.engine(1).view(ShardId{shard}).term, Term{1}) << "shard " << shard;
  }
}

TEST(EngineCluster, MoreCampaignsThanGoAtOnceAllEndInOneTerm) {
  constexpr std::uint32_t kShards = 90000;  // Leaderless, so many let few campaign at once.
  EngineCluster cluster(3, kShards);
  cluster.start_all();
  const auto led = [&] {
    std::uint32_t sum = 0;
    for (std::uint32_t id = 1; id <= 3; ++id) {
      sum += cluster.engine(id).view().leader_count;
    }
    return sum;
  };
  cluster.run_until([&] { return led() == kShards; }, 3000);
  for (std::uint32_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(cluster.count(id, "gcoord_server_dropped_total"), 0u) << "node " << id;
  }
}

// It steps no shard while it is alone, whatever time passes, but for those that it led: it repeats
// that it leads them no more, ever more seldom.
TEST(EngineCluster, ANodeWithoutAMajorityRests) {
  constexpr std::uint32_t kShards = 90;
  EngineCluster cluster(3, kShards);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
  const std::uint32_t led = cluster.engine(1).view().leader_count;
  cluster.stop(2);
  cluster.stop(3);
  cluster.run_ms(5000);
  EXPECT_EQ(cluster.engine(1).view().leader_count, 0u);
  const std::uint64_t steps = cluster.count(1, "gcoord_server_steps_total");
  cluster.run_ms(100'000);  // A hundred election timeouts.
  EXPECT_LE(cluster.count(1, "gcoord_server_steps_total") - steps, 10 * led);
  cluster.start(2);
  cluster.run_until([&] { return cluster.all_led(); }, 4000);
}

TEST(EngineCluster, WhatTheLeaderAcceptsEveryReplicaApplies) {
  EngineCluster cluster(3, 3);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint32_t leader = cluster.leader_of(1);
  std::vector<std::uint64_t> cookies;
  for (int k = 0; k < 100; ++k) {
    cookies.push_back(cluster.propose(leader, 1, "command " + std::to_string(k)));
  }
  cluster.settle();
  EXPECT_EQ(cluster.service(leader).decided, cookies);
  cluster.run_until([&] { return cluster.agreed(1); }, 1000);
  EXPECT_EQ(cluster.service(1).commands(ShardId{1}).size(), 100u);
}

// A command takes one step, which proposes it. Settled are the entries on both followers, what all
// three have stored, both acknowledgements, and the commit index on both followers.
TEST(EngineCluster, RowsAtRestTakeACommandWithOneStep) {
  constexpr std::uint32_t kShards = 64;
  EngineCluster cluster(3, kShards);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  cluster.settle();
  const auto total = [&](const char* counter) {
    std::uint64_t sum = 0;
    for (std::uint32_t id = 1; id <= 3; ++id) {
      sum += cluster.count(id, counter);
    }
    return sum;
  };
  const auto propose = [&](const std::string& text) {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      cluster.propose(cluster.leader_of(shard), shard, text);
    }
    cluster.settle();
  };
  propose("the first of its term");
  cluster.run_ms(500);
  const std::uint64_t settled = total("gcoord_server_rows_settled_total");
  const std::uint64_t steps = total("gcoord_server_steps_total");
  propose("one at rest");
  EXPECT_LE(total("gcoord_server_steps_total") - steps, kShards + kShards / 8);
  EXPECT_GE(total("gcoord_server_rows_settled_total") - settled, 8 * kShards);
  cluster.run_until([&] { return cluster.all_agreed(); }, 1000);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(cluster.service(1).commands(ShardId{shard}).size(), 2u);
  }
}

TEST(EngineCluster, TheLongestCommandsTravel) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint32_t leader = cluster.leader_of(0);
  for (int k = 0; k < 200; ++k) {
    cluster.propose(leader, 0, std::string(kCommandBytesMax, static_cast<char>('a' + k % 26)));
  }
  cluster.run_until([&] { return cluster.agreed(0); }, 1000);
  EXPECT_EQ(cluster.service(1).commands(ShardId{0}).size(), 200u);
}

TEST(EngineCluster, ProposalsToAFollowerComeBackWithTheLeader) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint32_t follower = cluster.leader_of(0) % 3 + 1;
  const std::uint64_t cookie = cluster.propose(follower, 0, "stray");
  cluster.settle();
  ASSERT_EQ(cluster.service(follower).failed.count(cookie), 1u);
  EXPECT_EQ(cluster.service(follower).failed.at(cookie).detail(), kNotLeader);
  EXPECT_TRUE(cluster.service(1).commands(ShardId{0}).empty());
}

TEST(EngineCluster, AStoppedLeaderIsReplacedWithinOneElectionTimeoutAndItsWorkStays) {
  EngineCluster cluster(3, 9);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint32_t leader = cluster.leader_of(4);
  cluster.propose(leader, 4, "before");
  cluster.settle();
  cluster.stop(leader);
  cluster.run_until([&] { return cluster.all_led(); }, 1300);
  const std::uint32_t successor = cluster.leader_of(4);
  cluster.propose(successor, 4, "after");
  cluster.run_until([&] { return cluster.agreed(4); }, 1000);
  EXPECT_EQ(cluster.service(successor).commands(ShardId{4}),
            (std::vector<std::string>{"before", "after"}));
}

TEST(EngineCluster, AnIdleClusterStepsNothingAndSendsOnlyHeartbeats) {
  EngineCluster cluster(3, 64);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
  cluster.run_ms(3000);
  const std::uint64_t steps = cluster.count(1, "gcoord_server_steps_total");
  const std::uint64_t messages = cluster.count(1, "gcoord_server_messages_out_total");
  cluster.run_ms(20000);
  EXPECT_EQ(cluster.count(1, "gcoord_server_steps_total"), steps);
  EXPECT_EQ(cluster.count(1, "gcoord_server_messages_out_total"), messages);
  EXPECT_TRUE(cluster.all_led());
}

TEST(EngineCluster, ReadsAreServedUnderTheLeaseWithoutAMessage) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint32_t leader = cluster.leader_of(0);
  cluster.run_until([&] { return cluster.engine(leader).view(ShardId{0}).lease; });
  const std::uint64_t messages = cluster.count(leader, "gcoord_server_messages_out_total");
  const std::uint64_t cookie = cluster.read(leader, 0);
  cluster.engine(leader).turn();
  ASSERT_EQ(cluster.service(leader).reads.count(cookie), 1u);
  EXPECT_TRUE(cluster.service(leader).reads.at(cookie).ok());
  EXPECT_EQ(cluster.count(leader, "gcoord_server_messages_out_total"), messages);
}

// The leader of shard 0 of three nodes, when it has a lease and the others have been stopped.
std::uint32_t leave_alone_with_lease(EngineCluster& cluster) {
  const std::uint32_t leader = cluster.leader_of(0);
  cluster.run_until([&] { return cluster.engine(leader).view(ShardId{0}).lease; });
  for (std::uint32_t id = 1; id <= 3; ++id) {
    if (id != leader) {
      cluster.stop(id);
    }
  }
  return leader;
}

TEST(EngineCluster, R1ARoundIsAskedForWhateverTheLeaseSays) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint32_t leader = cluster.leader_of(0);
  cluster.run_until([&] { return cluster.engine(leader).view(ShardId{0}).lease; });
  const std::uint64_t strict = cluster.read_by_round(leader, 0);
  const std::uint64_t leased = cluster.read(leader, 0);
  cluster.engine(leader).turn();
  EXPECT_EQ(cluster.service(leader).reads.count(strict), 0u);
  EXPECT_EQ(cluster.service(leader).reads.count(leased), 1u);
  cluster.run_until([&] { return cluster.service(leader).reads.count(strict) == 1; });
  EXPECT_TRUE(cluster.service(leader).reads.at(strict).ok());
  EXPECT_EQ(cluster.count(leader, "gcoord_server_reads_confirmed_total"), 1u);
}

TEST(EngineCluster, R1WithoutAMajorityALeaseAnswersNoRound) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint32_t leader = leave_alone_with_lease(cluster);
  ASSERT_TRUE(cluster.engine(leader).view(ShardId{0}).lease);
  const std::uint64_t strict = cluster.read_by_round(leader, 0);
  const std::uint64_t leased = cluster.read(leader, 0);
  cluster.engine(leader).turn();
  EXPECT_TRUE(cluster.service(leader).reads.at(leased).ok());
  cluster.run_until([&] { return cluster.service(leader).reads.count(strict) == 1; });
  EXPECT_FALSE(cluster.service(leader).reads.at(strict).ok());
}

TEST(EngineCluster, R2WhenTheLeaseIsOverAReadFallsBackToARound) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint32_t leader = leave_alone_with_lease(cluster);
  cluster.run_until([&] { return !cluster.engine(leader).view(ShardId{0}).lease; });
  const std::uint64_t cookie = cluster.read(leader, 0);
  cluster.engine(leader).turn();
  cluster.engine(leader).turn();
  const auto& reads = cluster.service(leader).reads;
  EXPECT_TRUE(reads.count(cookie) == 0 || !reads.at(cookie).ok());
}

// A process stood still for longer than its lease, others lead by now, and a client's request comes
// before its next turn: what it shows of itself must not be of the time before.
TEST(EngineCluster, R3AViewAfterAPauseShowsNoLeaseOfTheTurnBeforeIt) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint32_t leader = cluster.leader_of(0);
  cluster.run_until([&] { return cluster.engine(leader).view(ShardId{0}).lease; });
  const HostReplicas& engine = cluster.engine(leader);
  const Tick turned = engine.now();
  cluster.advance_ms(10'000);
  EXPECT_EQ(engine.now(), turned);
  EXPECT_EQ(engine.view(ShardId{0}).role, consensus::Role::Leader);
  EXPECT_FALSE(engine.view(ShardId{0}).lease);
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint32_t next = cluster.leader_of(0);
  cluster.run_until([&] { return cluster.engine(next).view(ShardId{0}).lease; });
}

TEST(EngineCluster, ReadsBehindAnUndecidedEntryWaitForIt) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint32_t leader = cluster.leader_of(0);
  cluster.propose(leader, 0, "first");
  const std::uint64_t cookie = cluster.read(leader, 0);
  cluster.settle();
  EXPECT_TRUE(cluster.service(leader).reads.at(cookie).ok());
  EXPECT_EQ(cluster.service(leader).commands(ShardId{0}).size(), 1u);
}

TEST(EngineCluster, ALeaderCutOffFromItsMajorityAnswersNoRead) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint32_t leader = cluster.leader_of(0);
  for (std::uint32_t id = 1; id <= 3; ++id) {
    if (id != leader) {
      cluster.stop(id);
    }
  }
  cluster.run_ms(950);  // The lease ran out; check-quorum comes a little later.
  const std::uint64_t cookie = cluster.read(leader, 0);
  cluster.run_until([&] { return cluster.service(leader).reads.count(cookie) == 1; });
  EXPECT_FALSE(cluster.service(leader).reads.at(cookie).ok());
}

TEST(EngineCluster, ProposalsOfALeadershipThatEndsAreReportedUnknown) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint32_t leader = cluster.leader_of(0);
  for (std::uint32_t id = 1; id <= 3; ++id) {
    if (id != leader) {
      cluster.stop(id);
    }
  }
  const std::uint64_t cookie = cluster.propose(leader, 0, "hanging");
  cluster.run_until([&] { return cluster.service(leader).failed.count(cookie) == 1; });
  EXPECT_EQ(cluster.service(leader).failed.at(cookie).detail(), kLeadershipLost);
}

TEST(EngineCluster, LeadershipIsHandedOverOnRequest) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
  const std::uint32_t leader = cluster.leader_of(0);
  const std::uint32_t heir = leader % 3 + 1;
  cluster.engine(leader).transfer(ShardId{0}, NodeId{heir});
  cluster.run_until([&] { return cluster.leader_of(0) == heir; }, 500);
}

TEST(EngineCluster, ServicesTalkToEachOther) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::string text = "keep alive";
  EXPECT_TRUE(cluster.engine(1).send_peer_message(NodeId{2}, std::as_bytes(std::span(text))));
  cluster.settle();
  ASSERT_EQ(cluster.service(2).peer_messages.size(), 1u);
  EXPECT_EQ(cluster.service(2).peer_messages[0], std::pair(NodeId{1}, text));
}

TEST(EngineCluster, APauseOfTheLoopIsTold) {
  EngineCluster cluster(1, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  cluster.advance_ms(5000);
  cluster.settle();
  EXPECT_EQ(cluster.service(1).gaps, std::vector<std::uint64_t>{500});
}

TEST(EngineCluster, APauseOfTheLoopIsToldOnceAndBeforeTheTurnToWhoeverWantsToKnow) {
  EngineCluster cluster(1, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  cluster.engine(1).note_gap();
  EXPECT_TRUE(cluster.service(1).gaps.empty());
  cluster.advance_ms(5000);
  cluster.engine(1).note_gap();
  EXPECT_EQ(cluster.service(1).gaps, std::vector<std::uint64_t>{500});
  cluster.settle();
  EXPECT_EQ(cluster.service(1).gaps.size(), 1u);
  cluster.advance_ms(4000);
  cluster.settle();
  EXPECT_EQ(cluster.service(1).gaps, (std::vector<std::uint64_t>{500, 400}));
}

}  // namespace
}  // namespace gcoord::server
