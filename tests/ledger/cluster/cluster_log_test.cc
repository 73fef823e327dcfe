#include "ledger/cluster/cluster_log.h"

#include "ledger/base/error_details.h"
#include "ledger/disk/memory_disk.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/tree_proof.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::ledger {
namespace {

std::vector<ShardHead> heads(std::uint64_t first, std::uint64_t count) {
  std::vector<ShardHead> made;
  for (std::uint64_t k = first; k < first + count; ++k) {
    ShardHead head{ShardId{static_cast<std::uint32_t>(k % 7)}, k + 1, {}};
    head.root[0] = static_cast<std::byte>(k);
    made.push_back(head);
  }
  return made;
}

void expect_like(const ClusterLog& log, const MemoryTree& tree) {
  ASSERT_EQ(log.size(), tree.size());
  for (std::uint32_t level = 0; tree.size() >> level != 0; ++level) {
    const std::uint64_t count = tree.size() >> level;
    for (std::uint64_t at = 0; at < count; at += 100) {
      const auto width = static_cast<std::size_t>(std::min<std::uint64_t>(100, count - at));
      ASSERT_EQ(log.hashes(level, at, width).value(), tree.hashes(level, at, width).value());
    }
    EXPECT_EQ(log.hashes(level, count, 1).status().detail(), kLedgerBeyond);
  }
  for (std::uint64_t size = 0; size <= tree.size(); size += 1 + tree.size() / 20) {
    ASSERT_EQ(root_at(log, size).value(), root_at(tree, size).value()) << size;
  }
}

TEST(ClusterLog, IsTheTreeOfItsLeavesAndComesBack) {
  MemoryDisk disk;
  MemoryTree tree;
  for (const std::uint64_t batch : {1u, 254u, 1u, 1u, 700u, 67u, 512u}) {
    const auto log = ClusterLog::open(disk, tree.size()).value();
    expect_like(*log, tree);
    const auto more = heads(tree.size(), batch);
    ASSERT_TRUE(log->append(more).ok());
    for (const ShardHead& head : more) {
      tree.append(encode_head(head));
    }
    expect_like(*log, tree);
    ASSERT_TRUE(log->sync().ok());
  }
  const auto log = ClusterLog::open(disk, tree.size()).value();
  EXPECT_EQ(log->entries(300, 200).value(), tree.entries(300, 200).value());
}

TEST(ClusterLog, KeepsWhatWasSyncedOverLossesOfPower) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    MemoryDisk disk;
    const std::uint64_t durable = seed * 13;
    {
      const auto log = ClusterLog::open(disk, 0).value();
      ASSERT_TRUE(log->append(heads(0, durable)).ok());
      ASSERT_TRUE(log->sync().ok());
      ASSERT_TRUE(log->append(heads(durable, 600)).ok());
    }
    disk.lose_power(seed);
    auto log = ClusterLog::open(disk, durable).value();
    const std::uint64_t kept = log->size();
    ASSERT_GE(kept, durable);
    ASSERT_TRUE(log->append(heads(kept, durable + 700 - kept)).ok());
    MemoryTree tree;
    for (const ShardHead& head : heads(0, durable + 700)) {
      tree.append(encode_head(head));
    }
    expect_like(*log, tree);
  }
}

TEST(ClusterLog, EveryFlippedBitOfADurableLeafIsFoundAndNamed) {
  MemoryDisk disk;
  {
    const auto log = ClusterLog::open(disk, 0).value();
    ASSERT_TRUE(log->append(heads(0, 300)).ok());
    ASSERT_TRUE(log->sync().ok());
  }
  const auto file = disk.open("cluster.leaves.0").value();
  for (const std::uint64_t leaf : {3u, 290u}) {
    for (std::size_t bit = 0; bit < 48 * 8; bit += 5) {
      std::vector<std::byte> byte(1);
      const std::uint64_t at = leaf * 48 + bit / 8;
      ASSERT_TRUE(file->read(at, byte).ok());
      byte[0] ^= std::byte{1} << bit % 8;
      ASSERT_TRUE(file->write(at, byte).ok());
      const auto log = ClusterLog::open(disk, 300);
      const Status status = log.ok() ? log.value()->entries(leaf, 1).status() : log.status();
      EXPECT_EQ(status.detail(), kClusterLogRot);
      EXPECT_NE(status.message().find("leaf " + std::to_string(leaf)), std::string::npos);
      byte[0] ^= std::byte{1} << bit % 8;
      ASSERT_TRUE(file->write(at, byte).ok());
    }
  }
}

TEST(ClusterLog, MakesDamagedTilesFromTheirLeavesAgain) {
  MemoryDisk disk;
  MemoryTree tree;
  {
    const auto log = ClusterLog::open(disk, 0).value();
    ASSERT_TRUE(log->append(heads(0, 1200)).ok());
    ASSERT_TRUE(log->sync().ok());
  }
  for (const ShardHead& head : heads(0, 1200)) {
    tree.append(encode_head(head));
  }
  const auto file = disk.open("cluster.tiles.0").value();
  ASSERT_TRUE(file->write(40, std::vector<std::byte>(1, std::byte{0x99})).ok());
  expect_like(*ClusterLog::open(disk, 1200).value(), tree);
}

TEST(ClusterLog, AFailedWriteIsSaid) {
  MemoryDisk disk;
  const auto log = ClusterLog::open(disk, 0).value();
  disk.fail_writes(true);
  EXPECT_FALSE(log->append(heads(0, 1)).ok());
  disk.fail_writes(false);
  disk.fail_syncs(true);
  EXPECT_EQ(log->sync().detail(), kDiskSyncFailed);
}

constexpr std::uint64_t kSegment = 512;

// Everything that the log keeps is as in the tree, and what it does not keep is said to be pruned.
void expect_rest_like(const ClusterLog& log, const MemoryTree& tree) {
  ASSERT_EQ(log.size(), tree.size());
  const std::uint64_t first = log.first();
  for (std::uint64_t at = first; at < log.size(); at += 97) {
    ASSERT_EQ(log.entries(at, 1).value(), tree.entries(at, 1).value()) << at;
    for (const std::uint64_t size : {at + 1, (at + log.size()) / 2 + 1, log.size()}) {
      const std::uint64_t bounded = std::min(size, log.size());
      ASSERT_EQ(root_at(log, bounded).value(), root_at(tree, bounded).value()) << bounded;
      ASSERT_EQ(inclusion_proof(log, at, bounded).value(),
                inclusion_proof(tree, at, bounded).value());
      ASSERT_EQ(consistency_proof(log, bounded, log.size()).value(),
                consistency_proof(tree, bounded, log.size()).value());
    }
  }
  if (first > 0) {
    EXPECT_EQ(root_at(log, first).value(), root_at(tree, first).value());
    EXPECT_EQ(log.entries(first - 1, 1).status().detail(), kLedgerPruned);
    EXPECT_EQ(log.entries(0, 1).status().detail(), kLedgerPruned);
    EXPECT_EQ(log.hashes(0, first - 1, 1).status().detail(), kLedgerPruned);
  }
}

TEST(ClusterLog, WhatIsKeptProvesAsBeforeAfterPruning) {
  MemoryDisk disk;
  MemoryTree tree;
  auto log = ClusterLog::open(disk, 0, kSegment).value();
  std::uint64_t first = 0;
  for (std::uint64_t round = 0; round < 40; ++round) {
    const auto more = heads(tree.size(), 3500 + 37 * round);
    ASSERT_TRUE(log->append(more).ok());
    for (const ShardHead& head : more) {
      tree.append(encode_head(head));
    }
    const std::uint64_t wanted = round % 3 == 0 ? 0 : tree.size() - 1700;
    const auto gone = log->prune(wanted);
    ASSERT_TRUE(gone.ok());
    EXPECT_EQ(log->first(), std::max(first, wanted / kSegment * kSegment));
    EXPECT_EQ(gone.value(), log->first() - first);
    first = log->first();
    expect_rest_like(*log, tree);
    ASSERT_TRUE(log->sync().ok());
    if (round % 5 == 4) {
      log = ClusterLog::open(disk, tree.size(), kSegment).value();
      EXPECT_EQ(log->first(), first);
      expect_rest_like(*log, tree);
    }
  }
  // More than a tile of tiles: hashes below the horizon are left of two levels.
  EXPECT_GT(first, 65'536u);
  ASSERT_TRUE(log->prune(tree.size() - 1700).ok());
  EXPECT_LE(disk.list().value().size(), 2 * (1700 / kSegment + 2) + 1);
}

TEST(ClusterLog, ALossOfPowerWhileItIsPrunedLosesNothingThatIsKept) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    MemoryDisk disk;
    MemoryTree tree;
    {
      const auto log = ClusterLog::open(disk, 0, kSegment).value();
      const auto all = heads(0, 4000);
      ASSERT_TRUE(log->append(all).ok());
      for (const ShardHead& head : all) {
        tree.append(encode_head(head));
      }
      ASSERT_TRUE(log->sync().ok());
      ASSERT_TRUE(log->prune(3000).ok());
      ASSERT_TRUE(log->append(heads(4000, 300)).ok());
    }
    disk.lose_power(seed);
    const auto log = ClusterLog::open(disk, 4000, kSegment).value();
    ASSERT_GE(log->size(), 4000u);
    EXPECT_EQ(log->first(), 2560u);
    EXPECT_EQ(root_at(*log, 4000).value(), root_at(tree, 4000).value());
  }
}

TEST(ClusterLog, BeginsAnewWhereAnotherOneBegins) {
  MemoryDisk disk;
  MemoryDisk other_disk;
  MemoryTree tree;
  const auto log = ClusterLog::open(disk, 0, kSegment).value();
  const auto all = heads(0, 70'000);
  ASSERT_TRUE(log->append(all).ok());
  for (const ShardHead& head : all) {
    tree.append(encode_head(head));
  }
  ASSERT_TRUE(log->prune(69'000).ok());
  const ClusterHorizon horizon = log->horizon();
  EXPECT_EQ(root_of(frontier_of(horizon)), root_at(tree, horizon.first).value());
  auto other = ClusterLog::open(other_disk, 0, kSegment).value();
  ASSERT_TRUE(other->append(heads(0, 1300)).ok());
  ASSERT_TRUE(other->begin_at(horizon).ok());
  EXPECT_EQ(other->size(), horizon.first);
  ASSERT_TRUE(other->append(std::span(all).subspan(horizon.first)).ok());
  expect_rest_like(*other, tree);
  ASSERT_TRUE(other->sync().ok());
  other = ClusterLog::open(other_disk, tree.size(), kSegment).value();
  expect_rest_like(*other, tree);
}

TEST(ClusterLog, AFlippedBitOfTheHorizonIsFound) {
  ClusterHorizon horizon{.first = 66'048, .groups = {{}, {}}};
  horizon.groups[0].resize(2);
  horizon.groups[1].resize(1);
  const auto bytes = encode(horizon);
  ASSERT_EQ(decode_horizon(bytes), horizon);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(decode_horizon(flipped)) << bit;
  }
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_horizon(std::span(bytes).first(length))) << length;
  }
  MemoryDisk disk;
  auto damaged = bytes;
  damaged.back() ^= std::byte{1};
  ASSERT_TRUE(write_atomically(disk, "cluster.horizon", damaged).ok());
  EXPECT_EQ(ClusterLog::open(disk, 0, kSegment).status().detail(), kClusterLogRot);
}

}  // namespace
}  // namespace gcoord::ledger
