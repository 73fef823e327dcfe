#include "ledger/directory/former_file.h"

#include "ledger/base/error_details.h"
#include "ledger/disk/memory_disk.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::ledger {
namespace {

constexpr FormerCluster kFormer{.cluster = ClusterId{77}, .time_ms = 1'764'000'000'000};

TEST(FormerFile, ADirectoryWithoutOneSaysNothing) {
  MemoryDisk disk;
  EXPECT_FALSE(read_former(disk).value().has_value());
}

TEST(FormerFile, WhatWasWrittenSurvivesAPowerLoss) {
  MemoryDisk disk;
  ASSERT_TRUE(write_former(disk, kFormer).ok());
  disk.lose_power(3);
  EXPECT_EQ(read_former(disk).value(), kFormer);
}

TEST(FormerFile, DamageIsFound) {
  MemoryDisk disk;
  ASSERT_TRUE(write_former(disk, kFormer).ok());
  const std::vector<std::byte> whole = disk.image(kFormerName);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> damaged = whole;
    damaged[at] ^= std::byte{4};
    disk.set_image(kFormerName, damaged);
    EXPECT_EQ(read_former(disk).status().detail(), kDirectoryIdentity) << at;
    disk.set_image(kFormerName, {whole.begin(), whole.begin() + static_cast<long>(at)});
    EXPECT_EQ(read_former(disk).status().detail(), kDirectoryIdentity) << at;
  }
  ASSERT_TRUE(write_former(disk, {}).ok());
  EXPECT_EQ(read_former(disk).status().detail(), kDirectoryIdentity) << "no cluster has id 0";
}

}  // namespace
}  // namespace gcoord::ledger
