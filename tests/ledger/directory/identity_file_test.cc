#include "ledger/directory/identity_file.h"

#include "common/bytes.h"
#include "common/crc32c.h"
#include "common/incarnation.h"
#include "ledger/base/error_details.h"
#include "ledger/disk/memory_disk.h"

#include <gtest/gtest.h>

namespace gcoord::ledger {
namespace {

constexpr NodeIdentity kNode{ClusterId{7}, NodeId{2}, 64};
constexpr std::uint64_t kRandomId = 991;

TEST(IdentityFile, DrawsItsIdOnceAndTheIncarnationRisesOnEveryOpen) {
  MemoryDisk disk;
  for (std::uint32_t life = 1; life <= 3; ++life) {
    const auto file = IdentityFile::open(disk, kNode, kRandomId + life).value();
    EXPECT_EQ(file->directory_id(), kRandomId + 1);
    EXPECT_EQ(file->incarnation(), Incarnation{life});
  }
}

TEST(IdentityFile, TheIncarnationIsDurableBeforeItIsKnown) {
  MemoryDisk disk;
  Incarnation last;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto file = IdentityFile::open(disk, kNode, kRandomId).value();
    EXPECT_GT(file->incarnation(), last);
    last = file->incarnation();
    disk.lose_power(seed);
  }
}

TEST(IdentityFile, EachMismatchHasItsOwnError) {
  MemoryDisk disk;
  ASSERT_TRUE(IdentityFile::open(disk, kNode, kRandomId).ok());
  NodeIdentity other = kNode;
  other.cluster = ClusterId{8};
  EXPECT_EQ(IdentityFile::open(disk, other, 1).status().detail(), kDirectoryCluster);
  other = kNode;
  other.node = NodeId{3};
  EXPECT_EQ(IdentityFile::open(disk, other, 1).status().detail(), kDirectoryNode);
  other = kNode;
  other.shard_count = 65;
  EXPECT_EQ(IdentityFile::open(disk, other, 1).status().detail(), kDirectoryShardCount);
  other = kNode;
  other.keeps_log = false;
  EXPECT_EQ(IdentityFile::open(disk, other, 1).status().detail(), kDirectoryDurability);
}

// The flags lie behind magic, version, node, cluster, shards, incarnation and directory id.
TEST(IdentityFile, ALedgerIsBoundedWhereTheDirectoryWasMadeSoAndNeverWhereAReleaseBeforeMadeIt) {
  MemoryDisk disk;
  EXPECT_TRUE(IdentityFile::open(disk, kNode, kRandomId).value()->ledger_bounded());
  EXPECT_TRUE(IdentityFile::open(disk, kNode, kRandomId).value()->ledger_bounded());
  std::vector<std::byte> bytes = disk.image("identity");
  constexpr std::size_t kFlagsAt = 40;
  constexpr std::uint32_t kBounded = 32;
  const auto flags = load<std::uint32_t>(&bytes[kFlagsAt]);
  ASSERT_NE(flags & kBounded, 0u);
  store(&bytes[kFlagsAt], flags & ~kBounded);
  store(&bytes[bytes.size() - 4], crc32c(std::span{bytes}.first(bytes.size() - 4)));
  disk.set_image("identity", bytes);
  EXPECT_FALSE(IdentityFile::open(disk, kNode, kRandomId).value()->ledger_bounded());
  EXPECT_FALSE(IdentityFile::open(disk, kNode, kRandomId).value()->ledger_bounded());
}

TEST(IdentityFile, ADirectoryWithoutALogStaysOne) {
  MemoryDisk disk;
  NodeIdentity memory = kNode;
  memory.keeps_log = false;
  ASSERT_TRUE(IdentityFile::open(disk, memory, kRandomId).ok());
  EXPECT_TRUE(IdentityFile::open(disk, memory, 1).ok());
  EXPECT_EQ(IdentityFile::open(disk, kNode, 1).status().detail(), kDirectoryDurability);
}

TEST(IdentityFile, ARefusedOpenIsNoIncarnation) {
  MemoryDisk disk;
  ASSERT_TRUE(IdentityFile::open(disk, kNode, kRandomId).ok());
  NodeIdentity other = kNode;
  other.cluster = ClusterId{8};
  ASSERT_FALSE(IdentityFile::open(disk, other, 1).ok());
  EXPECT_EQ(IdentityFile::open(disk, kNode, 1).value()->incarnation(), Incarnation{2});
}

TEST(IdentityFile, EveryFlippedBitAndEveryCutIsDetected) {
  MemoryDisk disk;
  {
    const auto file = IdentityFile::open(disk, kNode, kRandomId).value();
    ASSERT_TRUE(file->remember_peer({NodeId{1}, 55, Incarnation{4}}).ok());
  }
  const auto image = disk.image("identity");
  for (std::size_t bit = 0; bit < image.size() * 8; ++bit) {
    auto damaged = image;
    damaged[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << bit % 8)};
    disk.set_image("identity", damaged);
    EXPECT_EQ(IdentityFile::open(disk, kNode, 1).status().detail(), kDirectoryIdentity);
  }
  for (std::size_t length = 0; length < image.size(); ++length) {
    disk.set_image("identity", std::span{image}.first(length));
    EXPECT_EQ(IdentityFile::open(disk, kNode, 1).status().code(), StatusCode::DataLoss);
  }
}

TEST(IdentityFile, RemembersPeersInOrderAndOverRestarts) {
  MemoryDisk disk;
  {
    const auto file = IdentityFile::open(disk, kNode, kRandomId).value();
    ASSERT_TRUE(file->remember_peer({NodeId{3}, 300, Incarnation{1}}).ok());
    ASSERT_TRUE(file->remember_peer({NodeId{1}, 100, Incarnation{5}}).ok());
    ASSERT_TRUE(file->remember_peer({NodeId{3}, 300, Incarnation{2}}).ok());
  }
  disk.lose_power(1);
  const auto file = IdentityFile::open(disk, kNode, kRandomId).value();
  ASSERT_EQ(file->peers().size(), 2u);
  EXPECT_EQ(file->peers()[0].node, NodeId{1});
  EXPECT_EQ(file->peers()[1].directory_id, 300u);
  EXPECT_EQ(file->peers()[1].incarnation, Incarnation{2});
}

// Version 1 had 24 bytes for each peer, without the number of its life.
// It was taken for written by whoever asked again.
TEST(IdentityFile, WhatAFullDiskDidNotTakeIsTriedAgain) {
  MemoryDisk disk;
  const auto file = IdentityFile::open(disk, kNode, kRandomId).value();
  const PeerIdentity peer{NodeId{3}, 5, Incarnation{1}, 10, 77};
  disk.set_capacity_bytes(0);
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(file->remember_peer(peer).code(), StatusCode::ResourceExhausted);
    EXPECT_EQ(file->remember_peers({peer}).code(), StatusCode::ResourceExhausted);
    EXPECT_EQ(file->mark_established().code(), StatusCode::ResourceExhausted);
    EXPECT_TRUE(file->peers().empty());
    EXPECT_FALSE(file->established());
  }
  disk.set_capacity_bytes(1 << 20);
  EXPECT_TRUE(file->remember_peer(peer).ok());
  EXPECT_TRUE(file->mark_established().ok());
  const auto read = IdentityFile::read(disk).value();
  EXPECT_EQ(read->peers(), std::vector{peer});
  EXPECT_TRUE(read->established());
}

TEST(IdentityFile, ReadsTheFormatWithoutLives) {
  MemoryDisk disk;
  {
    const auto file = IdentityFile::open(disk, kNode, kRandomId).value();
    ASSERT_TRUE(file->remember_peer({NodeId{1}, 55, Incarnation{4}, 9, 1234}).ok());
  }
  std::vector<std::byte> bytes = disk.image("identity");
  bytes[8] = std::byte{1};
  bytes.erase(bytes.end() - 12, bytes.end() - 4);
  store(&bytes[bytes.size() - 4], crc32c(std::span{bytes}.first(bytes.size() - 4)));
  disk.set_image("identity", bytes);
  const auto file = IdentityFile::open(disk, kNode, kRandomId).value();
  EXPECT_EQ(file->peers(), (std::vector<PeerIdentity>{{NodeId{1}, 55, Incarnation{4}, 9, 0}}));
}

TEST(IdentityFile, ASuccessorOfALostDirectoryIsTheNextGenerationAndRejoins) {
  MemoryDisk disk;
  {
    const auto file = IdentityFile::open(disk, kNode, kRandomId).value();
    ASSERT_TRUE(file->take_over(incarnation_of(4, 30), 555).ok());
  }
  disk.lose_power(5);
  const auto file = IdentityFile::open(disk, kNode, 1).value();
  EXPECT_EQ(file->incarnation(), incarnation_of(5, 31));
  EXPECT_EQ(file->directory_id(), 555u);
  EXPECT_TRUE(file->established());
  EXPECT_TRUE(file->rejoining());
  ASSERT_TRUE(file->mark_rejoined().ok());
  disk.lose_power(6);
  const auto again = IdentityFile::open(disk, kNode, 1).value();
  EXPECT_FALSE(again->rejoining());
  EXPECT_TRUE(again->established());
}

TEST(IdentityFile, AnOldImageNeverTakesALowerPlaceThanItHad) {
  MemoryDisk disk;
  for (std::uint32_t start = 1; start < 5; ++start) {
    ASSERT_TRUE(IdentityFile::open(disk, kNode, kRandomId).ok());
  }
  const auto file = IdentityFile::open(disk, kNode, kRandomId).value();
  ASSERT_TRUE(file->take_over(incarnation_of(0, 3), 555).ok());
  EXPECT_EQ(file->incarnation(), incarnation_of(1, 5));
}

TEST(IdentityFile, GenerationsAndStartsRunOutWithAClearError) {
  MemoryDisk disk;
  {
    const auto file = IdentityFile::open(disk, kNode, kRandomId).value();
    EXPECT_EQ(file->take_over(incarnation_of(kGenerationMax, 1), 5).detail(), kDirectoryUsedUp);
    ASSERT_TRUE(file->take_over(incarnation_of(0, kStartMax - 1), 5).ok());
  }
  EXPECT_EQ(IdentityFile::open(disk, kNode, 1).value()->incarnation(),
            incarnation_of(1, kStartMax));
  EXPECT_EQ(IdentityFile::open(disk, kNode, 1).status().detail(), kDirectoryUsedUp);
}

TEST(IdentityFile, ALogIsOwedOnceTheDirectoryIsInUse) {
  MemoryDisk disk;
  {
    const auto file = IdentityFile::open(disk, kNode, kRandomId).value();
    EXPECT_FALSE(file->in_use());
  }
  {
    const auto file = IdentityFile::open(disk, kNode, kRandomId).value();
    EXPECT_FALSE(file->in_use());  // A first start that never got as far as a log.
    ASSERT_TRUE(file->mark_in_use().ok());
  }
  disk.lose_power(3);
  EXPECT_TRUE(IdentityFile::open(disk, kNode, kRandomId).value()->in_use());
}

}  // namespace
}  // namespace gcoord::ledger
