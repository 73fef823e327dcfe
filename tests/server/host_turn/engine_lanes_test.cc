// Engines that divide their shards among turn threads: each node into another number of lanes, and
// into another one after each start (docs/internals/threads.md).
#include "tests/server/host_turn/engine_cluster.h"

namespace gcoord::server {
namespace {

constexpr const char* kSegments = "gcoord_ledger_wal_segments";

// Two whole groups of slices and one that ends within them.
constexpr std::uint32_t kShardCount = 600;

class EngineLanes : public testing::Test {
 protected:
  EngineLanes() {
    cluster_.tune = [this](ReplicaOptions& options) {
      options.turn_threads = threads_of_[options.node.value];
      options.wal_segment_bytes = std::uint64_t{64} << 10;
    };
  }

  ~EngineLanes() override { stop_all(); }

  void start_all() {
    cluster_.start_all();
    cluster_.run_until([this] { return cluster_.all_led() && cluster_.all_agreed(); });
  }

  void stop_all() {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      cluster_.stop(id);
    }
  }

  // Proposes to every shard, with its number, and waits for agreement.
  void propose(const std::string& text) {
    for (std::uint32_t shard = 0; shard < kShardCount; ++shard) {
      cluster_.propose(cluster_.leader_of(shard), shard, text + " of " + std::to_string(shard));
    }
    cluster_.run_until([this] { return cluster_.all_agreed(); }, 2000);
  }

  // What every shard was told, on every node.
  void expect(const std::vector<std::string>& texts) {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      for (std::uint32_t shard = 0; shard < kShardCount; ++shard) {
        std::vector<std::string> commands;
        for (const std::string& text : texts) {
          commands.push_back(text + " of " + std::to_string(shard));
        }
        ASSERT_EQ(cluster_.service(id).commands(ShardId{shard}), commands) << "shard " << shard;
      }
    }
  }

  void checkpoint() {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      const std::uint64_t before = cluster_.engine(id).view().checkpoint_count;
      cluster_.engine(id).request_checkpoint();
      cluster_.wait_for([&] { return cluster_.engine(id).view().checkpoint_count > before; });
    }
  }

  std::uint32_t threads_of_[4] = {0, 1, 3, 4};  // By node.
  EngineCluster cluster_{3, kShardCount};
};

TEST_F(EngineLanes, ElectProposeReadAndCountTogether) {
  start_all();
  propose("first");
  expect({"first"});
  std::uint32_t led = 0;
  for (std::uint32_t id = 1; id <= 3; ++id) {
    const NodeView view = cluster_.engine(id).view();
    led += view.leader_count;
    EXPECT_EQ(cluster_.gauge(id, "gcoord_server_leaders"), view.leader_count);
    EXPECT_EQ(cluster_.gauge(id, "gcoord_server_entry_bytes"),
              static_cast<std::int64_t>(view.entry_bytes));
  }
  EXPECT_EQ(led, kShardCount);
  for (const std::uint32_t shard : {0u, 255u, 256u + 77u, 599u}) {
    const std::uint32_t leader = cluster_.leader_of(shard);
    const std::uint64_t leased = cluster_.read(leader, shard);
    const std::uint64_t asked = cluster_.read_by_round(leader, shard);
    auto& reads = cluster_.service(leader).reads;
    cluster_.run_until([&] { return reads.contains(leased) && reads.contains(asked); }, 2000);
    EXPECT_TRUE(reads.at(leased).ok() && reads.at(asked).ok());
    EXPECT_EQ(cluster_.engine(leader).view(ShardId{shard}).shard, ShardId{shard});
  }
}

TEST_F(EngineLanes, AnotherNumberOfThreadsFindsWhatWasWritten) {
  start_all();
  propose("first");
  stop_all();
  threads_of_[1] = 2;
  threads_of_[2] = 1;
  threads_of_[3] = 16;
  start_all();
  expect({"first"});
  propose("second");
  checkpoint();
  propose("third");
  stop_all();
  threads_of_[1] = 7;
  threads_of_[2] = 5;
  threads_of_[3] = 1;
  start_all();
  expect({"first", "second", "third"});
}

// Each look at the clock finds it 4 ms later, so a turn takes a part of what came.
TEST_F(EngineLanes, MessagesThatATurnHasNoTimeForWaitForTheNext) {
  std::uint64_t passed_us = 0;
  std::uint64_t each_us = 0;
  cluster_.tune = [&, before = cluster_.tune](ReplicaOptions& options) {
    before(options);
    options.clock_us = [&, clock_us = options.clock_us] {
      passed_us += each_us;
      return clock_us() + passed_us;
    };
  };
  threads_of_[2] = threads_of_[3] = 1;
  start_all();
  propose("first");
  for (std::uint32_t shard = 0; shard < kShardCount; ++shard) {
    cluster_.propose(cluster_.leader_of(shard), shard, "second of " + std::to_string(shard));
  }
  each_us = 4'000;
  for (int turn = 0; turn < 8; ++turn) {
    cluster_.turn_all();
  }
  each_us = 0;
  cluster_.run_until([this] { return cluster_.all_agreed(); }, 2000);
  expect({"first", "second"});
}

// A checkpoint is the node's: it goes through all lanes and then covers the log of record.
TEST_F(EngineLanes, CheckpointsOfAllLanesLetTheLogShrink) {
  start_all();
  for (int round = 0; round < 5; ++round) {
    propose(std::string(500, 'x'));
  }
  for (std::uint32_t id = 1; id <= 3; ++id) {
    EXPECT_GT(cluster_.gauge(id, kSegments), 2);
  }
  checkpoint();
  for (std::uint32_t id = 1; id <= 3; ++id) {
    EXPECT_NE(cluster_.engine(id).view().checkpoint_lsn, ledger::Lsn{});
    cluster_.wait_for([&] { return cluster_.gauge(id, kSegments) <= 2; });
  }
}

TEST_F(EngineLanes, ANodeThatWasAwayGetsSnapshotsInSeveralLanes) {
  start_all();
  cluster_.stop(3);
  cluster_.run_until([this] { return cluster_.all_led(); });
  for (int k = 0; k < 600; ++k) {
    for (const std::uint32_t shard : {1u, 2u, 256u + 3u, 512u}) {
      cluster_.propose(cluster_.leader_of(shard), shard, "missed " + std::to_string(k));
    }
    cluster_.settle();
  }
  cluster_.start(3);
  cluster_.run_until([this] { return cluster_.all_led() && cluster_.all_agreed(); });
  EXPECT_GE(cluster_.service(3).install_count, 4);
  EXPECT_EQ(cluster_.service(3).commands(ShardId{256 + 3}).size(), 600u);
}

TEST_F(EngineLanes, MoreThreadsThanShardsAreNotMade) {
  EngineCluster small(1, 3);
  small.tune = [](ReplicaOptions& options) { options.turn_threads = 16; };
  small.start(1);
  small.run_until([&] { return small.all_led(); });
  small.propose(1, 2, "alone");
  small.run_until([&] { return small.agreed(2); });
  EXPECT_EQ(small.service(1).commands(ShardId{2}), std::vector<std::string>{"alone"});
}

}  // namespace
}  // namespace gcoord::server
