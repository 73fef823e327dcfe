#include "ledger/cluster/signer_state.h"

#include "ledger/base/error_details.h"
#include "ledger/cluster/node_key_file.h"
#include "ledger/disk/memory_disk.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/tree_proof.h"

#include <gtest/gtest.h>

#include <array>

namespace gcoord::ledger {
namespace {

MemoryTree* grow(MemoryTree& tree, std::uint64_t size, std::uint8_t salt = 0) {
  while (tree.size() < size) {
    tree.append(std::array<std::byte, 2>{static_cast<std::byte>(tree.size()), std::byte{salt}});
  }
  return &tree;
}

SignedLog signed_at(const MemoryTree& tree, std::uint64_t size) {
  return {size, root_at(tree, size).value()};
}

TEST(SignerState, SignsWhatContinuesWhatWasSigned) {
  MemoryDisk disk;
  MemoryTree tree;
  grow(tree, 20);
  const auto state = SignerState::open(disk).value();
  EXPECT_EQ(state->last(), SignedLog{});
  for (const std::uint64_t size : {3u, 3u, 7u, 20u}) {
    ASSERT_TRUE(state->advance(signed_at(tree, size), tree).ok()) << size;
    disk.lose_power(size);
    EXPECT_EQ(SignerState::open(disk).value()->last(), signed_at(tree, size));
  }
}

TEST(SignerState, ARestoredLogThatIsBehindIsRefused) {
  MemoryDisk disk;
  MemoryTree tree;
  MemoryTree restored;
  grow(tree, 20);
  grow(restored, 12);
  const auto state = SignerState::open(disk).value();
  ASSERT_TRUE(state->advance(signed_at(tree, 20), tree).ok());
  EXPECT_EQ(state->advance(signed_at(restored, 12), restored).detail(), kSignerBehind);
  EXPECT_EQ(state->last(), signed_at(tree, 20));
  // It grew past what was signed, the same way.
  grow(restored, 25);
  EXPECT_TRUE(state->advance(signed_at(restored, 25), restored).ok());
}

TEST(SignerState, ALogThatWentAnotherWayIsRefusedForEver) {
  MemoryDisk disk;
  MemoryTree tree;
  MemoryTree other;
  grow(tree, 20);
  grow(other, 12);
  grow(other, 30, 1);
  const auto state = SignerState::open(disk).value();
  ASSERT_TRUE(state->advance(signed_at(tree, 20), tree).ok());
  EXPECT_EQ(state->advance(signed_at(other, 20), other).detail(), kSignerContradiction);
  EXPECT_EQ(state->advance(signed_at(other, 30), other).detail(), kSignerContradiction);
  EXPECT_EQ(SignerState::open(disk).value()->last(), signed_at(tree, 20));
}

TEST(SignerState, EveryFlippedBitAndEveryCutIsFound) {
  MemoryDisk disk;
  MemoryTree tree;
  grow(tree, 5);
  ASSERT_TRUE(SignerState::open(disk).value()->advance(signed_at(tree, 5), tree).ok());
  const auto bytes = read_all(*disk.open("signed").value()).value();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= std::byte{1} << bit % 8;
    ASSERT_TRUE(write_atomically(disk, "signed", flipped).ok());
    ASSERT_EQ(SignerState::open(disk).status().detail(), kSignerState) << bit;
  }
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    ASSERT_TRUE(write_atomically(disk, "signed", std::span(bytes).first(length)).ok());
    ASSERT_EQ(SignerState::open(disk).status().detail(), kSignerState) << length;
  }
}

TEST(SignerState, NothingIsSignedThatCouldNotBeWritten) {
  MemoryDisk disk;
  MemoryTree tree;
  grow(tree, 5);
  const auto state = SignerState::open(disk).value();
  disk.fail_syncs(true);
  EXPECT_FALSE(state->advance(signed_at(tree, 5), tree).ok());
  EXPECT_EQ(state->last(), SignedLog{});
}

constexpr const char* kName = "gcoord/7/node/2";

TEST(NodeKeyFile, IsMadeOnceAndStays) {
  MemoryDisk disk;
  NoteSeed seed{};
  seed[0] = std::byte{1};
  const std::string text = open_node_key(disk, kName, seed).value().key().text();
  disk.lose_power(3);
  seed[0] = std::byte{2};
  EXPECT_EQ(open_node_key(disk, kName, seed).value().key().text(), text);
  MemoryDisk other;
  EXPECT_NE(open_node_key(other, kName, seed).value().key().text(), text);
}

TEST(NodeKeyFile, OfAnotherNodeOrDamagedIsRefused) {
  MemoryDisk disk;
  const NoteSeed seed{};
  ASSERT_TRUE(open_node_key(disk, kName, seed).ok());
  EXPECT_EQ(open_node_key(disk, "gcoord/7/node/3", seed).status().detail(), kLedgerKey);
  const auto bytes = read_all(*disk.open("ledger.key").value()).value();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    ASSERT_TRUE(write_atomically(disk, "ledger.key", std::span(bytes).first(length)).ok());
    EXPECT_EQ(open_node_key(disk, kName, seed).status().detail(), kLedgerKey) << length;
  }
}

}  // namespace
}  // namespace gcoord::ledger
