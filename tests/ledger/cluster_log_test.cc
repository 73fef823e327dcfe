#include "ledger/cluster_log.h"

#include "ledger/error_details.h"
#include "ledger/memory_disk.h"
#include "ledger/memory_tree.h"
#include "ledger/tree_proof.h"

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
  const auto file = disk.open("cluster.leaves").value();
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
  const auto file = disk.open("cluster.tiles").value();
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

}  // namespace
}  // namespace gcoord::ledger
