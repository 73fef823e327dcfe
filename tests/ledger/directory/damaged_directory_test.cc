#include "ledger/directory/damaged_directory.h"

#include "common/bytes.h"
#include "common/crc32c.h"
#include "common/incarnation.h"
#include "ledger/base/error_details.h"
#include "ledger/disk/posix_disk.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace gcoord::ledger {
namespace {

constexpr NodeIdentity kNode{ClusterId{7}, NodeId{2}, 64};

DataDirectoryOptions options_for(const ScratchFolder& parent, std::uint64_t random_id) {
  return {parent.path("node"), kNode, random_id};
}

// A directory that has served, met a peer and holds a file of a log.
void use(const ScratchFolder& parent) {
  const auto directory = DataDirectory::open(options_for(parent, 991)).value();
  ASSERT_TRUE(directory->identity().remember_peer({NodeId{1}, 55, Incarnation{4}, 9}).ok());
  ASSERT_TRUE(directory->mark_in_use().ok());
  std::ofstream(parent.path("node/wal/segment")) << "rot";
}

TEST(DamagedDirectory, IsKeptAsideAndSucceededByTheNextGeneration) {
  const ScratchFolder parent;
  use(parent);
  ASSERT_TRUE(replace_damaged(options_for(parent, 992)).ok());
  EXPECT_TRUE(std::filesystem::exists(parent.path("node.damaged/wal/segment")));
  EXPECT_FALSE(std::filesystem::exists(parent.path("node/wal/segment")));
  const auto fresh = DataDirectory::open(options_for(parent, 993)).value();
  EXPECT_EQ(fresh->incarnation(), incarnation_of(1, 2));
  EXPECT_EQ(fresh->directory_id(), 992u);
  EXPECT_TRUE(fresh->created());
  EXPECT_TRUE(fresh->identity().rejoining());
  ASSERT_EQ(fresh->identity().peers().size(), 1u);
  EXPECT_EQ(fresh->identity().peers()[0].directory_id, 55u);
}

// As a release before left it: without the flag that bounds a ledger.
void make_unbounded(const std::string& path) {
  const auto disk = PosixDisk::open_directory(path).value();
  const auto file = disk->open("identity").value();
  std::vector<std::byte> bytes = read_all(*file).value();
  constexpr std::size_t kFlagsAt = 40;
  constexpr std::uint32_t kBounded = 32;
  const auto flags = load<std::uint32_t>(&bytes[kFlagsAt]);
  ASSERT_NE(flags & kBounded, 0u);
  store(&bytes[kFlagsAt], flags & ~kBounded);
  store(&bytes[bytes.size() - 4], crc32c(std::span{bytes}.first(bytes.size() - 4)));
  ASSERT_TRUE(write_atomically(*disk, "identity", bytes).ok());
}

// The node deleted from then on what nobody had agreed to lose.
TEST(DamagedDirectory, OneThatKeepsItsWholeLedgerIsSucceededByOneThatDoes) {
  const ScratchFolder parent;
  use(parent);
  make_unbounded(parent.path("node"));
  ASSERT_TRUE(replace_damaged(options_for(parent, 992)).ok());
  EXPECT_FALSE(DataDirectory::open(options_for(parent, 993)).value()->identity().ledger_bounded());
  EXPECT_FALSE(DataDirectory::open(options_for(parent, 994)).value()->identity().ledger_bounded());
}

// A crash between two steps: the directory is aside; then an empty one is there, too.
TEST(DamagedDirectory, AReplacementThatACrashCutOffIsEndedByTheNextStart) {
  for (const bool made : {false, true}) {
    const ScratchFolder parent;
    use(parent);
    make_unbounded(parent.path("node"));
    std::filesystem::rename(parent.path("node"), parent.path("node.damaged"));
    if (made) {
      ASSERT_TRUE(DataDirectory::open(options_for(parent, 992)).ok());
    }
    ASSERT_TRUE(resume_replacement(options_for(parent, 993)).ok());
    ASSERT_TRUE(resume_replacement(options_for(parent, 994)).ok());  // There is nothing left to do.
    const auto fresh = DataDirectory::open(options_for(parent, 995)).value();
    EXPECT_EQ(generation_of(fresh->incarnation()), 1u);
    EXPECT_EQ(fresh->directory_id(), 993u);
    EXPECT_TRUE(fresh->identity().rejoining());
    EXPECT_FALSE(fresh->identity().ledger_bounded());
    EXPECT_EQ(fresh->identity().peers().size(), 1u);
  }
}

TEST(DamagedDirectory, WhatLiesAsideForOtherReasonsChangesNothing) {
  const ScratchFolder parent;
  use(parent);
  EXPECT_TRUE(resume_replacement(options_for(parent, 992)).ok());
  std::filesystem::copy(parent.path("node"), parent.path("node.damaged"));  // Of the same life.
  EXPECT_TRUE(resume_replacement(options_for(parent, 993)).ok());
  DataDirectoryOptions other = options_for(parent, 994);
  other.identity.node = NodeId{3};
  std::filesystem::rename(parent.path("node"), parent.path("elsewhere"));
  EXPECT_TRUE(resume_replacement(other).ok());
  EXPECT_FALSE(std::filesystem::exists(parent.path("node/identity")));
  std::filesystem::rename(parent.path("elsewhere"), parent.path("node"));
  const auto same = DataDirectory::open(options_for(parent, 995)).value();
  EXPECT_EQ(same->directory_id(), 991u);
  EXPECT_FALSE(same->identity().rejoining());
}

TEST(DamagedDirectory, OneWithABoundIsSucceededByOneWithABound) {
  const ScratchFolder parent;
  use(parent);
  ASSERT_TRUE(replace_damaged(options_for(parent, 992)).ok());
  EXPECT_TRUE(DataDirectory::open(options_for(parent, 993)).value()->identity().ledger_bounded());
}

TEST(DamagedDirectory, WithoutAReadableIdentityItIsAnEmptyOneThatPeersHaveToTell) {
  const ScratchFolder parent;
  use(parent);
  std::ofstream(parent.path("node/identity")) << "rot";
  ASSERT_EQ(DataDirectory::open(options_for(parent, 1)).status().detail(), kDirectoryIdentity);
  ASSERT_TRUE(replace_damaged(options_for(parent, 992)).ok());
  const auto fresh = DataDirectory::open(options_for(parent, 993)).value();
  EXPECT_EQ(generation_of(fresh->incarnation()), 0u);
  EXPECT_FALSE(fresh->identity().rejoining());
  EXPECT_FALSE(fresh->identity().established());
}

TEST(DamagedDirectory, ADiskThatRotsTwiceIsRefusedAndNothingIsTouched) {
  const ScratchFolder parent;
  use(parent);
  std::filesystem::create_directory(parent.path("node.damaged"));
  const Status refused = replace_damaged(options_for(parent, 992));
  EXPECT_EQ(refused.detail(), kDirectoryDamagedTwice);
  EXPECT_NE(refused.message().find("node.damaged"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(parent.path("node/wal/segment")));
}

TEST(DamagedDirectory, OneInUseStaysWhereItIs) {
  const ScratchFolder parent;
  use(parent);
  const auto held = DataDirectory::open(options_for(parent, 991)).value();
  EXPECT_EQ(replace_damaged(options_for(parent, 992)).detail(), kDirectoryLocked);
  EXPECT_TRUE(std::filesystem::exists(parent.path("node/wal/segment")));
}

}  // namespace
}  // namespace gcoord::ledger
