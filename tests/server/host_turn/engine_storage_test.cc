// What survives the end of a process: restarts, checkpoints, lost power, failed disks, snapshots
// for those who were away.
#include "server/interfaces/errors.h"
#include "tests/server/host_turn/engine_cluster.h"

namespace gcoord::server {
namespace {

constexpr const char* kSegments = "gcoord_ledger_wal_segments";
constexpr const char* kShardsWritten = "gcoord_server_checkpoint_shards_total";

// Proposes to the shard's leader and waits until all running nodes agree.
void fill(EngineCluster& cluster, std::uint32_t shard, int count, const std::string& text) {
  for (int sent = 0; sent < count; sent += 100) {
    const std::uint32_t leader = cluster.leader_of(shard);
    for (int k = sent; k < std::min(count, sent + 100); ++k) {
      cluster.propose(leader, shard, text + std::to_string(k));
    }
    cluster.settle();
  }
  cluster.run_until([&] { return cluster.agreed(shard); }, 2000);
}

void checkpoint(EngineCluster& cluster, std::uint32_t id) {
  const std::uint64_t before = cluster.engine(id).view().checkpoint_count;
  cluster.engine(id).request_checkpoint();
  cluster.wait_for([&] { return cluster.engine(id).view().checkpoint_count > before; });
}

TEST(EngineStorage, ARestartedClusterReplaysItsLogs) {
  EngineCluster cluster(3, 5);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  fill(cluster, 3, 50, "kept ");
  const auto kept = cluster.service(1).commands(ShardId{3});
  for (std::uint32_t id = 1; id <= 3; ++id) {
    cluster.stop(id);
  }
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
  EXPECT_EQ(cluster.service(2).commands(ShardId{3}), kept);
  EXPECT_EQ(cluster.engine(2).incarnation(), Incarnation{2});
}

TEST(EngineStorage, ARestartedNodeNeitherVotesNorCampaignsForAnElectionTimeout) {
  EngineCluster cluster(1, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  EXPECT_EQ(cluster.engine(1).view().vote_after, Tick{0});
  cluster.stop(1);
  cluster.start(1);
  cluster.run_ms(900);
  EXPECT_FALSE(cluster.all_led());
  cluster.run_until([&] { return cluster.all_led(); }, 3000);
}

TEST(EngineStorage, ACheckpointDropsSegmentsAndARestartFromItIsEqual) {
  EngineCluster cluster(3, 4);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  for (int round = 0; round < 8; ++round) {
    fill(cluster, 2, 400, std::string(1000, 'x'));
  }
  ASSERT_GT(cluster.gauge(1, kSegments), 2);
  checkpoint(cluster, 1);
  fill(cluster, 1, 20, "after the checkpoint ");
  cluster.wait_for([&] { return cluster.gauge(1, kSegments) <= 2; });
  const auto before = cluster.service(1).commands(ShardId{2});
  cluster.stop(1);
  cluster.start(1);
  EXPECT_EQ(cluster.service(1).commands(ShardId{2}), before);
  cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
  EXPECT_EQ(cluster.service(1).commands(ShardId{1}).size(), 20u);
}

TEST(EngineStorage, WhoAsksForACheckpointIsToldHowItEndedAndFindsItInTheStore) {
  EngineCluster cluster(3, 4);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  fill(cluster, 2, 40, "kept ");
  HostReplicas& engine = cluster.engine(1);
  const std::uint64_t first = engine.request_checkpoint();
  EXPECT_FALSE(engine.checkpoint_outcome(first).has_value());
  cluster.wait_for([&] { return engine.checkpoint_outcome(first).has_value(); });
  EXPECT_TRUE(engine.checkpoint_outcome(first)->ok());
  std::vector<std::byte> state;
  cluster.service(1).serialize(ShardId{2}, state);
  const auto stored = engine.checkpoints()->get(ledger::CheckpointColumn::Service, ShardId{2});
  ASSERT_TRUE(stored.ok()) << stored.status().to_string();
  EXPECT_EQ(stored.value(), state);
  // One that has nothing to write ends as well.
  std::uint64_t last = first;
  for (int round = 0; round < 3; ++round) {
    last = engine.request_checkpoint();
    cluster.wait_for([&] { return engine.checkpoint_outcome(last).has_value(); });
  }
  EXPECT_GT(last, first);
  EXPECT_TRUE(engine.checkpoint_outcome(last)->ok());
  EXPECT_FALSE(engine.checkpoint_outcome(last + 1).has_value());
}

class TimedCheckpoint : public ::testing::Test {
 protected:
  // One began lately and has ended, and there is something to write for the next one.
  void SetUp() override {
    cluster_.tune = [](ReplicaOptions& options) { options.checkpoint_interval_ms = 10'000; };
    cluster_.start_all();
    cluster_.run_ms(10'500);
    cluster_.wait_for([&] { return cluster_.engine(1).view().checkpoint_count == 1; });
    fill(cluster_, 0, 5, "later ");
  }

  // How many began. Asks for one more, so it is asked once.
  std::uint64_t begun() { return cluster_.engine(1).request_checkpoint() - 1; }

  EngineCluster cluster_{1, 1};
};

TEST_F(TimedCheckpoint, WaitsWhileTheServiceIsBehind) {
  cluster_.service(1).is_behind = true;
  cluster_.run_ms(15'000);
  EXPECT_EQ(begun(), 1u);
}

TEST_F(TimedCheckpoint, WaitsForOneIntervalMoreAtMost) {
  cluster_.service(1).is_behind = true;
  cluster_.run_ms(20'000);
  EXPECT_EQ(begun(), 2u);
}

TEST_F(TimedCheckpoint, BeginsOnceTheServiceIsBehindNoMore) {
  cluster_.service(1).is_behind = true;
  cluster_.run_ms(15'000);
  cluster_.service(1).is_behind = false;
  cluster_.run_ms(100);
  EXPECT_EQ(begun(), 2u);
}

// More shards than a turn looks at.
TEST(EngineStorage, ACheckpointPausesWhileTheServiceIsBehind) {
  EngineCluster cluster(1, 2000);
  cluster.tune = [](ReplicaOptions& options) { options.checkpoint_interval_ms = 10'000; };
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  while (cluster.counter(1, kShardsWritten) == 0) {
    cluster.advance_ms(10);
    cluster.turn_all();
  }
  cluster.service(1).is_behind = true;
  const std::uint64_t written = cluster.counter(1, kShardsWritten);
  EXPECT_LT(written, 2000u);
  cluster.run_ms(5'000);
  EXPECT_EQ(cluster.counter(1, kShardsWritten), written);
  // Somebody waits for it now.
  const std::uint64_t asked = cluster.engine(1).request_checkpoint();
  cluster.wait_for([&] { return cluster.engine(1).checkpoint_outcome(asked - 1).has_value(); });
  EXPECT_GE(cluster.counter(1, kShardsWritten), 2000u);
}

TEST(EngineStorage, ACheckpointUnderLoadLosesNothing) {
  EngineCluster cluster(3, 2);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  std::size_t proposed = 0;
  std::size_t failed = 0;
  while (cluster.engine(1).view().checkpoint_count < 3) {
    cluster.engine(1).request_checkpoint();
    for (std::uint32_t shard = 0; shard < 2; ++shard) {
      cluster.propose(cluster.leader_of(shard), shard, "load " + std::to_string(proposed++));
    }
    for (std::uint32_t id = 1; id <= 3; ++id) {
      cluster.engine(id).turn();
    }
  }
  cluster.run_until([&] { return cluster.all_agreed(); }, 2000);
  for (std::uint32_t id = 1; id <= 3; ++id) {
    failed += cluster.service(id).failed.size();  // Overloaded, where the disk is slow.
  }
  cluster.stop(1);
  cluster.start(1);
  cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
  EXPECT_EQ(cluster.service(1).commands(ShardId{0}).size() +
                cluster.service(1).commands(ShardId{1}).size() + failed,
            proposed);
}

TEST(EngineStorage, ANodeThatWasAwayLongGetsASnapshot) {
  EngineCluster cluster(3, 2);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  cluster.stop(3);
  cluster.run_until([&] { return cluster.all_led(); });
  fill(cluster, 0, 1000, "missed ");
  cluster.start(3);
  cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
  EXPECT_GE(cluster.service(3).install_count, 1);
  EXPECT_EQ(cluster.service(3).commands(ShardId{0}).size(), 1000u);
  cluster.stop(3);
  cluster.start(3);
  cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
  EXPECT_EQ(cluster.service(3).commands(ShardId{0}).size(), 1000u);
}

TEST(EngineStorage, ASnapshotOfManyChunksArrivesWhole) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  cluster.stop(3);
  cluster.run_until([&] { return cluster.all_led(); });
  fill(cluster, 0, 1500, std::string(1500, 'y'));  // Over two MiB: three dozen chunks.
  cluster.start(3);
  cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
  EXPECT_EQ(cluster.service(3).install_count, 1);
  EXPECT_EQ(cluster.service(3).commands(ShardId{0}).size(), 1500u);
}

TEST(EngineStorage, WhatWasDecidedSurvivesALossOfPowerOnAllNodes) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EngineCluster cluster(3, 3);
    cluster.start_all();
    cluster.run_until([&] { return cluster.all_led(); });
    fill(cluster, 1, 30, "decided ");
    for (std::uint32_t id = 1; id <= 3; ++id) {
      cluster.node(id).wal_disk.fail_syncs(true);
    }
    cluster.propose(cluster.leader_of(1), 1, "never durable");
    cluster.settle();
    for (std::uint32_t id = 1; id <= 3; ++id) {
      cluster.stop(id);
      cluster.node(id).wal_disk.fail_syncs(false);
      cluster.node(id).wal_disk.lose_power(seed * 10 + id);
      cluster.node(id).identity_disk.lose_power(seed * 20 + id);
    }
    cluster.start_all();
    cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
    const auto& commands = cluster.service(1).commands(ShardId{1});
    ASSERT_GE(commands.size(), 30u) << "seed " << seed;
    EXPECT_EQ(commands[29], "decided 29");
  }
}

TEST(EngineStorage, AFailedSyncStopsTheNodeWithoutAnAnswer) {
  EngineCluster cluster(1, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  cluster.node(1).wal_disk.fail_syncs(true);
  const std::uint64_t cookie = cluster.propose(1, 0, "lost");
  cluster.settle();
  EXPECT_FALSE(cluster.engine(1).failure().ok());
  EXPECT_EQ(cluster.engine(1).failure().detail(), ledger::kDiskSyncFailed);
  EXPECT_FALSE(cluster.decided(1, cookie));
  EXPECT_EQ(cluster.engine(1).turn(), 0u);
}

TEST(EngineStorage, ADirectoryOfAnotherShardCountIsRefused) {
  EngineCluster cluster(1, 8);
  cluster.start_all();
  cluster.stop(1);
  cluster.tune = [](ReplicaOptions& options) { options.shard_count = 16; };
  EXPECT_EQ(cluster.try_start(1).detail(), ledger::kDirectoryShardCount);
}

TEST(EngineStorage, AnEmptyDirectoryUnderAnOldIdIsRefusedByItsPeers) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  cluster.stop(3);
  cluster.wipe(3);
  cluster.tune = [](ReplicaOptions& options) { options.seed += 99; };  // Another directory id.
  cluster.start(3);
  cluster.run_ms(3000);
  EXPECT_EQ(cluster.engine(3).failure().detail(), kDirectoryRefused);
  EXPECT_NE(cluster.engine(3).failure().message().find("another data directory"), std::string::npos)
      << cluster.engine(3).failure().message();
}

// Nobody who remembers the lost directory can be asked: the two that run must not take the shards
// anew over the head of the third, which holds what was decided.
TEST(EngineStorage, AWipedNodeDoesNotVoteBeforeAllHaveAdmittedIt) {
  EngineCluster cluster(3, 2);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  for (const std::uint32_t id : {1, 2, 3}) {
    cluster.stop(id);
  }
  cluster.wipe(2);
  cluster.wipe(3);
  cluster.tune = [](ReplicaOptions& options) { options.seed += 99; };
  cluster.start(2);
  cluster.start(3);
  cluster.run_ms(5000);
  EXPECT_FALSE(cluster.leader_of(0) != 0 || cluster.leader_of(1) != 0);
}

// A node that starts again and again on an old copy reaches any incarnation; its log does not grow.
TEST(EngineStorage, ADirectoryThatComesBackFromABackupIsRefusedAtEveryStart) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led() && cluster.agreed(0); });
  cluster.stop(3);
  const auto backup = cluster.back_up(3);
  cluster.start(3);
  cluster.run_until([&] { return cluster.all_led(); });
  fill(cluster, 0, 100, "after the backup ");
  cluster.run_ms(1000);
  cluster.stop(3);
  cluster.restore(3, backup);
  for (int start = 0; start < 4; ++start) {
    cluster.start(3);
    cluster.run_ms(3000);
    EXPECT_EQ(cluster.engine(3).failure().detail(), kDirectoryRefused) << "start " << start;
    EXPECT_TRUE(cluster.engine(3).view(ShardId{0}).role == consensus::Role::Follower);
    cluster.stop(3);
  }
  EXPECT_NE(cluster.leader_of(0), 0u);
}

TEST(EngineStorage, NodesOfDifferentSettingsRefuseEachOther) {
  EngineCluster cluster(2, 4);
  cluster.start(1);
  cluster.tune = [](ReplicaOptions& options) { options.shard_count = 8; };
  cluster.start(2);
  cluster.run_ms(3000);
  EXPECT_EQ(cluster.leader_of(0), 0u);
  const bool told = cluster.engine(1).failure().detail() == kSettingsDiffer ||
                    cluster.engine(2).failure().detail() == kSettingsDiffer;
  EXPECT_TRUE(told);
}

// Fault 8 of docs/internals/faults.md: followers would commit for ever what a leader cannot apply.
TEST(EngineStorage, ALeaderWhoseDiskStandsStillIsReplaced) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  const std::uint32_t stalled = cluster.leader_of(0);
  cluster.node(stalled).gated_wal.gate().close();
  cluster.propose(stalled, 0, "stuck");
  for (int ms = 0; ms < 6000 && cluster.leader_of(0) == stalled; ms += 10) {
    cluster.turn_all();
    cluster.advance_ms(10);
  }
  EXPECT_NE(cluster.leader_of(0), stalled);
  cluster.node(stalled).gated_wal.gate().open();
}

TEST(EngineStorage, AThousandShardsKeepTheirLeadersOverARestart) {
  EngineCluster cluster(3, 1000);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led(); });
  for (std::uint32_t shard = 0; shard < 1000; ++shard) {
    cluster.propose(cluster.leader_of(shard), shard, "of shard " + std::to_string(shard));
  }
  cluster.run_until([&] { return cluster.all_agreed(); }, 2000);
  checkpoint(cluster, 2);
  cluster.stop(2);
  cluster.run_until([&] { return cluster.all_led(); }, 1300);
  cluster.start(2);
  cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
  EXPECT_EQ(cluster.service(2).commands(ShardId{777}), std::vector<std::string>{"of shard 777"});
}

TEST(EngineStorage, AShardOfManyTermsComesBack) {
  EngineCluster cluster(3, 1);
  cluster.start_all();
  cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
  for (int round = 0; round < 12; ++round) {
    const std::uint32_t leader = cluster.leader_of(0);
    cluster.propose(leader, 0, "in round " + std::to_string(round));
    cluster.settle();
    cluster.engine(leader).transfer(ShardId{0}, NodeId{leader % 3 + 1});
    cluster.run_until([&] { return cluster.leader_of(0) == leader % 3 + 1; });
    cluster.run_until([&] { return cluster.agreed(0); }, 2000);
  }
  for (std::uint32_t id = 1; id <= 3; ++id) {
    cluster.stop(id);
    cluster.start(id);
    cluster.run_until([&] { return cluster.all_led() && cluster.all_agreed(); });
    EXPECT_EQ(cluster.service(id).commands(ShardId{0}).size(), 12u);
  }
}

}  // namespace
}  // namespace gcoord::server
