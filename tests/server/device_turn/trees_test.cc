// Merkle trees that follow the logs of a turn, by the host twins of both: whatever is decided is in
// the trees of all replicas, and nothing is forgotten before.
#include "server/device_turn/trees.h"

#include "chaos/device_turn/tree_check.h"
#include "common/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using chaos::HostNode;
using chaos::TreeVerdict;
using chaos::TurnCluster;
using chaos::TurnClusterOptions;

constexpr std::uint64_t kTickNs = 1000;  // Of a clock that the test moves.
constexpr std::uint32_t kShards = 301;   // Three chunks, the last of them not full.

TurnClusterOptions hashed_cluster(std::uint64_t seed) {
  TurnClusterOptions options;
  options.shape = {.shard_count = kShards,
                   .stripe_count = 4,
                   .log_slots = 64,
                   .entries_max = 16,
                   .wide_count = 64};
  options.timing.tick_ns = kTickNs;
  options.timing.limits = {.window_entries = 16, .uncommitted_entries = 16, .message_entries = 16};
  options.seed = seed;
  options.hash_blocks = 2;
  return options;
}

// Three host nodes, a clock that moves by a tenth of a tick with every turn of a node, and hashing
// every so many turns.
struct HashedWorld {
  explicit HashedWorld(const TurnClusterOptions& options) {
    auto made = chaos::make_host_turn_cluster(options);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    cluster = std::move(made).value();
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      host[n].emplace(*cluster, n);
    }
  }

  void turns(std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      now_ns += kTickNs / 10;
      const auto n = static_cast<std::uint32_t>(++turned % kTurnNodes);
      if (host[n].has_value()) {
        host[n]->turn(now_ns);
      }
      for (std::uint32_t one = 0; one < kTurnNodes; ++one) {
        if (hash_every[one] != 0 && turned % hash_every[one] == 0) {
          added[one] += chaos::hash_on_host(*cluster, one, turned % 5 == 0);
        }
      }
    }
  }

  void feed(std::uint32_t batch) {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      ASSERT_TRUE(cluster->feed(n, batch).ok());
    }
  }

  // Lets everything come to rest and all of it be hashed.
  void finish() {
    feed(0);
    for (std::uint64_t& every : hash_every) {
      every = 1;
    }
    turns(6000);
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      host[n].reset();
      while (chaos::hash_on_host(*cluster, n, true) != 0) {
      }
      chaos::fold_on_host(*cluster, n);
    }
  }

  StripeCounts counts(std::uint32_t n) { return cluster->counts(n).value().sum; }

  std::vector<chaos::CountedRow> rows(std::uint32_t n) {
    auto rows = cluster->service_rows(n);
    EXPECT_TRUE(rows.ok()) << rows.status().to_string();
    return std::move(rows).value();
  }

  std::uint64_t applied(std::uint32_t n) {
    std::uint64_t sum = 0;
    for (const chaos::CountedRow& row : rows(n)) {
      sum += row.count;
    }
    return sum;
  }

  std::unique_ptr<TurnCluster> cluster;
  std::optional<HostNode> host[kTurnNodes];
  std::uint64_t hash_every[kTurnNodes] = {1, 2, 7};  // Turns; 0: never.
  std::uint64_t added[kTurnNodes]{};
  std::uint64_t now_ns = 1'000'000;
  std::uint64_t turned = 0;
};

TEST(DeviceTurnTrees, EveryReplicaHasTheRootsOfTheCpusTreesOverWhatWasDecided) {
  HashedWorld world(hashed_cluster(31));
  world.turns(3000);
  world.feed(4);
  world.turns(4000);
  world.feed(16);
  world.turns(2000);
  world.finish();
  const auto verdict = chaos::check_trees(*world.cluster, {.threads = 2});
  ASSERT_TRUE(verdict.ok()) << verdict.status().to_string();
  EXPECT_EQ(verdict.value().shards, kShards);
  EXPECT_EQ(verdict.value().without_tree, 0u);
  EXPECT_EQ(verdict.value().hashed_again, kShards);
  EXPECT_EQ(verdict.value().several_leaders, 0u);
  EXPECT_EQ(verdict.value().leaves, world.applied(0) + kShards);
  EXPECT_GT(verdict.value().leaves, kShards * 300u);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    const ledger::FollowCounts counts = world.cluster->follow_counts(n).value();
    EXPECT_EQ(counts.leaves, verdict.value().leaves);
    EXPECT_LT(counts.nodes, counts.leaves);
    EXPECT_GT(counts.nodes, counts.leaves / 2);
  }
}

// A leader whose tree stands still fills its log and no more; what it held back it takes later.
TEST(DeviceTurnTrees, ALeaderHoldsBackWhileItsLogIsFullOfWhatIsNotHashed) {
  HashedWorld world(hashed_cluster(32));
  world.turns(3000);
  for (std::uint64_t& every : world.hash_every) {
    every = 0;
  }
  world.feed(8);
  world.turns(4000);
  const std::uint64_t stuck = world.applied(0);
  EXPECT_GT(stuck, kShards * 16u);
  world.turns(4000);
  EXPECT_EQ(world.applied(0), stuck);
  for (const chaos::CountedRow& row : world.rows(0)) {
    EXPECT_LE(row.count + 1, 64u);
  }
  for (std::uint64_t& every : world.hash_every) {
    every = 3;
  }
  world.turns(4000);
  world.finish();
  EXPECT_GT(world.applied(0), 3 * stuck);
  std::uint64_t held = 0;
  std::uint64_t dropped = 0;
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    held += world.counts(n).held;
    dropped += world.counts(n).dropped;
  }
  EXPECT_GT(held, 0u);
  EXPECT_EQ(dropped, 0u);
  const auto verdict = chaos::check_trees(*world.cluster, {});
  ASSERT_TRUE(verdict.ok()) << verdict.status().to_string();
  EXPECT_EQ(verdict.value().hashed_again, kShards);
}

// One replica hashes seldom: its log fills, it takes what finds room, and it loses nothing.
TEST(DeviceTurnTrees, AFollowerThatHashesSlowlyKeepsItsTrees) {
  HashedWorld world(hashed_cluster(33));
  world.turns(3000);
  world.hash_every[2] = 400;
  world.feed(8);
  world.turns(20'000);
  world.finish();
  const auto verdict = chaos::check_trees(*world.cluster, {});
  ASSERT_TRUE(verdict.ok()) << verdict.status().to_string();
  EXPECT_EQ(verdict.value().shards, kShards);
  EXPECT_EQ(verdict.value().without_tree, 0u);
  EXPECT_GT(verdict.value().hashed_again, 0u);
}

// A node that comes back by snapshots has no trees of those shards, and says so; the others lose
// none.
TEST(DeviceTurnTrees, ARowThatASnapshotBroughtUpHasNoTreeAndHoldsNobodyUp) {
  HashedWorld world(hashed_cluster(34));
  world.turns(3000);
  world.feed(8);
  world.host[2].reset();
  world.turns(8000);
  world.host[2].emplace(*world.cluster, 2);
  world.turns(4000);
  const std::uint64_t before = world.applied(2);
  world.turns(4000);
  EXPECT_GT(world.applied(2), before);
  world.finish();
  const auto decided = world.cluster->decided(2);
  ASSERT_TRUE(decided.ok());
  const auto lost = static_cast<std::uint64_t>(
      std::count(decided.value().begin(), decided.value().end(), kNoTurnTree));
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(world.applied(2), world.applied(0));
  const auto verdict = chaos::check_trees(*world.cluster, {});
  ASSERT_TRUE(verdict.ok()) << verdict.status().to_string();
  EXPECT_EQ(verdict.value().without_tree, lost);
  EXPECT_EQ(verdict.value().shards, kShards - lost);
}

// The judge itself: a wrong root, a leaf that is missing.
TEST(DeviceTurnTrees, AWrongRootAndAMissingLeafAreFound) {
  HashedWorld world(hashed_cluster(35));
  world.turns(3000);
  world.feed(4);
  world.turns(1000);
  world.finish();
  ASSERT_TRUE(chaos::check_trees(*world.cluster, {}).ok());
  Sha256Words* root[kTurnNodes];
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    root[n] = &world.cluster->follower(n).root[77];
  }
  root[1]->word[3] ^= 1;
  EXPECT_EQ(chaos::check_trees(*world.cluster, {}).status().code(), StatusCode::Internal);
  root[0]->word[3] ^= 1;
  root[2]->word[3] ^= 1;
  const auto all_wrong = chaos::check_trees(*world.cluster, {});
  ASSERT_FALSE(all_wrong.ok());
  EXPECT_NE(all_wrong.status().message().find("shard 77"), std::string::npos);
  for (Sha256Words* one : root) {
    one->word[3] ^= 1;
  }
  ASSERT_TRUE(chaos::check_trees(*world.cluster, {}).ok());
  --world.cluster->follower(2).table.size[5];
  EXPECT_FALSE(chaos::check_trees(*world.cluster, {}).ok());
}

}  // namespace
}  // namespace gcoord::server
