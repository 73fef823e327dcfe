// Engines that keep the shards of some slices only, in directories that hold those of others.
#include "server/interfaces/errors.h"
#include "tests/server/host_turn/engine_cluster.h"

namespace gcoord::server {
namespace {

constexpr const char* kSegments = "gcoord_ledger_wal_segments";

// Two whole groups of slices and one that ends within them.
constexpr std::uint32_t kShardCount = 600;

using Slices = std::vector<std::uint8_t>;
const Slices kSome = {1, 87, 88, 255};

// The shards of some slices: what a log over them speaks of.
std::vector<std::uint32_t> shards_of(const Slices& slices) {
  std::vector<std::uint32_t> shards;
  for (std::uint32_t shard = 0; shard < kShardCount; ++shard) {
    if (std::find(slices.begin(), slices.end(), shard % consensus::kSlices) != slices.end()) {
      shards.push_back(shard);
    }
  }
  return shards;
}

class EngineSlices : public testing::Test {
 protected:
  // Nodes that are started from now on keep these; none: all.
  void keep(const Slices& slices) {
    shards_ = slices.empty() ? shards_of({1, 87, 88, 255, 0, 200}) : shards_of(slices);
    cluster_.tune = [slices](ReplicaOptions& options) {
      options.slices = slices;
      options.wal_segment_bytes = std::uint64_t{64} << 10;
    };
  }

  void start_all() {
    cluster_.start_all();
    cluster_.run_until([this] { return led() && agreed(); });
  }

  void stop_all() {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      cluster_.stop(id);
    }
  }

  bool led() {
    return std::all_of(shards_.begin(), shards_.end(), [this](std::uint32_t shard) {
      return cluster_.leader_of(shard) != 0;
    });
  }

  bool agreed() {
    return std::all_of(shards_.begin(), shards_.end(), [this](std::uint32_t shard) {
      return cluster_.agreed(shard);
    });
  }

  // Proposes to every shard that is kept, with its number, and waits for agreement.
  void propose(const std::string& text) {
    for (const std::uint32_t shard : shards_) {
      cluster_.propose(cluster_.leader_of(shard), shard, text + " of " + std::to_string(shard));
    }
    cluster_.run_until([this] { return agreed(); }, 2000);
  }

  // What every shard that is kept was told, on every node.
  void expect(const std::vector<std::string>& texts) {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      for (const std::uint32_t shard : shards_) {
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

  EngineCluster cluster_{3, kShardCount};
  std::vector<std::uint32_t> shards_;
};

TEST_F(EngineSlices, ElectProposeApplyAndReadForTheirShards) {
  keep(kSome);
  start_all();
  propose("first");
  expect({"first"});
  const std::uint32_t shard = 256 + 255;
  const std::uint32_t leader = cluster_.leader_of(shard);
  const std::uint64_t cookie = cluster_.read(leader, shard);
  cluster_.run_until([&] { return cluster_.service(leader).reads.contains(cookie); }, 2000);
  EXPECT_TRUE(cluster_.service(leader).reads.at(cookie).ok());
  EXPECT_EQ(cluster_.engine(leader).view(ShardId{shard}).shard, ShardId{shard});
  // Nobody heard of any other shard.
  for (const auto& [told, role] : cluster_.service(leader).roles) {
    EXPECT_NE(std::find(shards_.begin(), shards_.end(), told), shards_.end()) << told;
  }
  EXPECT_EQ(cluster_.service(leader).roles.size(), shards_.size());
}

TEST_F(EngineSlices, RecoverFromTheLogAndFromCheckpoints) {
  keep(kSome);
  start_all();
  propose("first");
  stop_all();
  start_all();
  expect({"first"});
  propose("second");
  checkpoint();
  propose("third");
  stop_all();
  start_all();
  expect({"first", "second", "third"});
}

TEST_F(EngineSlices, ANodeThatWasAwayGetsSnapshotsOfItsShards) {
  keep(kSome);
  start_all();
  cluster_.stop(3);
  cluster_.run_until([this] { return led(); });
  const std::uint32_t shard = 256 + 88;
  for (int k = 0; k < 600; ++k) {
    cluster_.propose(cluster_.leader_of(shard), shard, "missed " + std::to_string(k));
    cluster_.settle();
  }
  cluster_.start(3);
  cluster_.run_until([this] { return led() && agreed(); });
  EXPECT_GE(cluster_.service(3).install_count, 1);
  EXPECT_EQ(cluster_.service(3).commands(ShardId{shard}).size(), 600u);
}

// A log of record is the node's: a writer that holds some slices leaves what it says of others.
TEST_F(EngineSlices, WhatOtherSlicesKeepInTheDirectoryOutlivesTheirCheckpoints) {
  keep({});
  start_all();
  propose("all");
  stop_all();
  keep(kSome);
  start_all();
  expect({"all"});
  for (int round = 0; round < 20; ++round) {
    for (const std::uint32_t shard : shards_) {
      cluster_.propose(cluster_.leader_of(shard), shard, std::string(2000, 'x'));
    }
    cluster_.settle();
  }
  cluster_.run_until([this] { return agreed(); }, 2000);
  checkpoint();
  checkpoint();
  for (std::uint32_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(cluster_.engine(id).view().checkpoint_lsn, ledger::Lsn{});
    EXPECT_GT(cluster_.gauge(id, kSegments), 2);
  }
  stop_all();
  keep({0, 200});
  start_all();
  expect({"all"});
  propose("of others");
  checkpoint();
  stop_all();
  // And who holds all finds all, and may drop what its checkpoint covers.
  keep({});
  start_all();
  shards_ = shards_of({0, 200});
  expect({"all", "of others"});
  for (const std::uint32_t shard : shards_of(kSome)) {
    EXPECT_EQ(cluster_.service(2).commands(ShardId{shard}).size(), 21u) << shard;
  }
  checkpoint();
  cluster_.wait_for([&] { return cluster_.gauge(1, kSegments) <= 2; });
  EXPECT_NE(cluster_.engine(1).view().checkpoint_lsn, ledger::Lsn{});
}

TEST_F(EngineSlices, ThatDoNotAscendOrHoldNoShardAreRefused) {
  keep({7, 3});
  EXPECT_EQ(cluster_.try_start(1).detail(), kEngineOptions);
  keep({3, 3});
  EXPECT_EQ(cluster_.try_start(1).detail(), kEngineOptions);
  cluster_.tune = [](ReplicaOptions& options) {
    options.shard_count = 200;
    options.slices = {200, 255};
  };
  EXPECT_EQ(cluster_.try_start(1).detail(), kEngineOptions);
}

}  // namespace
}  // namespace gcoord::server
