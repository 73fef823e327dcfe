// Memory mode in whole engines: restarts, re-admission, and what must stay refused.
#include "tests/server/host_turn/engine_cluster.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kShards = 64;

class MemoryModeTest : public testing::Test {
 protected:
  MemoryModeTest() : cluster_(3, kShards) {
    cluster_.tune = [](ReplicaOptions& options) {
      options.durability = consensus::Durability::Memory;
    };
  }

  void start() {
    cluster_.start_all();
    cluster_.run_until([this] { return cluster_.all_led(); });
  }

  // One command in every shard, answered by whoever leads it.
  void decide(const std::string& text) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> asked;
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      const std::uint32_t leader = cluster_.leader_of(shard);
      ASSERT_NE(leader, 0u);
      asked.emplace_back(leader, cluster_.propose(leader, shard, text));
    }
    cluster_.run_until([&] {
      return std::all_of(asked.begin(), asked.end(), [&](const auto& each) {
        return cluster_.decided(each.first, each.second);
      });
    });
  }

  bool votes_everywhere(std::uint32_t id) {
    return cluster_.engine(id).view().voting_count == kShards;
  }

  bool whole() { return votes_everywhere(1) && votes_everywhere(2) && votes_everywhere(3); }

  EngineCluster cluster_;
};

TEST_F(MemoryModeTest, ServesWithoutWritingALog) {
  start();
  decide("a");
  cluster_.run_until([this] { return cluster_.all_agreed() && whole(); });
  EXPECT_TRUE(cluster_.node(1).wal_disk.list().value().empty());
  EXPECT_EQ(cluster_.engine(1).view().forgotten_count, 0u);
}

TEST_F(MemoryModeTest, ARestartedNodeBecomesALearnerAndThenAVoterEverywhere) {
  start();
  decide("a");
  cluster_.stop(3);
  cluster_.run_until([this] { return cluster_.all_led(); });
  decide("b");
  cluster_.start(3);
  EXPECT_EQ(cluster_.engine(3).view().forgotten_count, kShards);
  EXPECT_EQ(cluster_.engine(3).view().voting_count, 0u);
  cluster_.run_until([this] { return whole() && cluster_.all_agreed(); });
  EXPECT_EQ(cluster_.engine(3).view().forgotten_count, 0u);
  const auto commands = cluster_.service(3).commands(ShardId{7});
  EXPECT_EQ(commands, (std::vector<std::string>{"a", "b"}));
  const auto changes = cluster_.count(1, "gcoord_server_readmission_changes_total") +
                       cluster_.count(2, "gcoord_server_readmission_changes_total");
  EXPECT_GE(changes, 2u * kShards);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    const auto configuration = cluster_.engine(1).view(ShardId{shard}).configuration;
    EXPECT_EQ(configuration.voters, 7u) << shard;
    EXPECT_EQ(configuration.learners, 0u) << shard;
  }
  // It counts again: another one may go.
  cluster_.stop(2);
  cluster_.run_until([this] { return cluster_.all_led(); });
  decide("c");
}

TEST_F(MemoryModeTest, EveryNodeMayRestartInTurn) {
  start();
  std::vector<std::string> expected;
  for (std::uint32_t round = 0; round < 6; ++round) {
    expected.push_back("r" + std::to_string(round));
    decide(expected.back());
    cluster_.stop(round % 3 + 1);
    cluster_.start(round % 3 + 1);
    cluster_.run_until([this] { return cluster_.all_led() && whole() && cluster_.all_agreed(); });
  }
  for (std::uint32_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(cluster_.service(id).commands(ShardId{5}), expected);
  }
}

TEST_F(MemoryModeTest, ACheckpointIsAWarmStart) {
  start();
  decide("a");
  cluster_.run_until([this] { return cluster_.all_agreed(); });
  cluster_.engine(3).request_checkpoint();
  cluster_.wait_for([this] { return cluster_.engine(3).view().checkpoint_count > 0; });
  cluster_.stop(3);
  cluster_.start(3);
  EXPECT_EQ(cluster_.service(3).commands(ShardId{1}), std::vector<std::string>{"a"});
  EXPECT_EQ(cluster_.engine(3).view().forgotten_count, kShards);
  cluster_.run_until([this] { return whole(); });
  EXPECT_EQ(cluster_.count(3, "gcoord_server_snapshots_installed_total"), 0u);
}

TEST_F(MemoryModeTest, ShardsThatTwoOfThreeForgotStayWithoutALeader) {
  start();
  decide("a");
  cluster_.stop(2);
  cluster_.stop(3);
  cluster_.start(2);
  cluster_.start(3);
  cluster_.run_ms(60000);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(cluster_.leader_of(shard), 0u) << shard;
  }
  for (const std::uint32_t id : {2u, 3u}) {
    EXPECT_EQ(cluster_.engine(id).view().forgotten_count, kShards);
    EXPECT_EQ(cluster_.engine(id).view().unled_count, kShards);
    EXPECT_EQ(cluster_.gauge(id, "gcoord_server_forgotten_shards"),
              static_cast<std::int64_t>(kShards));
  }
  EXPECT_EQ(cluster_.engine(1).view().unled_count, kShards);
}

TEST_F(MemoryModeTest, AClusterThatForgotEverythingStaysSilentUntilItIsMadeAnew) {
  start();
  decide("a");
  for (std::uint32_t id = 1; id <= 3; ++id) {
    cluster_.stop(id);
  }
  cluster_.start_all();
  cluster_.run_ms(30000);
  EXPECT_EQ(cluster_.leader_of(0), 0u);
  for (std::uint32_t id = 1; id <= 3; ++id) {
    cluster_.wipe(id);
  }
  start();
  decide("b");
  EXPECT_EQ(cluster_.service(1).commands(ShardId{0}), std::vector<std::string>{"b"});
}

TEST_F(MemoryModeTest, ADurableNodeAndOneInMemoryModeRefuseEachOther) {
  cluster_.start(1);
  cluster_.start(2);
  cluster_.tune = [](ReplicaOptions&) {};
  cluster_.start(3);
  cluster_.run_ms(3000);
  std::string said;
  for (std::uint32_t id = 1; id <= 3; ++id) {
    const Status status = cluster_.engine(id).failure();
    said += status.detail() == kSettingsDiffer ? status.message() + "\n" : "";
  }
  // Of the one that both others refuse.
  EXPECT_NE(said.find("--durability durable, this node with memory"), std::string::npos) << said;
  EXPECT_EQ(cluster_.leader_of(0), 0u);
}

TEST_F(MemoryModeTest, ADirectoryKeepsTheDurabilityItWasMadeWith) {
  start();
  cluster_.stop(1);
  cluster_.tune = [](ReplicaOptions&) {};
  EXPECT_EQ(cluster_.try_start(1).detail(), ledger::kDirectoryDurability);
}

// Before all nodes have met, nobody's word counts, so a restart loses nothing.
TEST_F(MemoryModeTest, ANodeThatRestartsBeforeTheClusterMetHasForgottenNothing) {
  cluster_.start(1);
  cluster_.start(2);
  cluster_.run_ms(500);
  cluster_.stop(2);
  cluster_.start(2);
  cluster_.stop(1);
  cluster_.start(1);
  cluster_.run_ms(500);
  cluster_.start(3);
  cluster_.run_until([this] { return cluster_.all_led() && whole(); });
  decide("a");
}

// An image of a directory from before the cluster met would vote as if it had promised nothing.
TEST_F(MemoryModeTest, AnImageFromBeforeTheClusterMetIsRefused) {
  cluster_.start(3);
  cluster_.run_ms(500);
  cluster_.stop(3);
  const EngineCluster::Backup backup = cluster_.back_up(3);
  start();
  decide("a");
  for (const std::uint32_t id : {1u, 2u}) {
    cluster_.engine(id).request_checkpoint();
    cluster_.wait_for([this, id] { return cluster_.engine(id).view().checkpoint_count > 0; });
  }
  cluster_.stop(3);
  cluster_.restore(3, backup);
  cluster_.start(3);
  cluster_.run_ms(3000);
  EXPECT_EQ(cluster_.engine(3).failure().detail(), kDirectoryRefused);
}

}  // namespace
}  // namespace gcoord::server
