#include "ledger/directory/members_file.h"

#include "ledger/base/error_details.h"
#include "ledger/disk/memory_disk.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace gcoord::ledger {
namespace {

std::vector<std::byte> some(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t k = 0; k < size; ++k) {
    bytes[k] = static_cast<std::byte>(k * 7 + 1);
  }
  return bytes;
}

TEST(MembersFile, ADirectoryWithoutOneSaysNothing) {
  MemoryDisk disk;
  const auto read = read_members(disk);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_FALSE(read.value().has_value());
}

TEST(MembersFile, APowerLossLeavesTheOldContentOrTheNewOne) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    MemoryDisk disk;
    ASSERT_TRUE(write_members(disk, some(700)).ok());
    ASSERT_TRUE(write_members(disk, some(40)).ok());
    disk.lose_power(seed);
    EXPECT_EQ(read_members(disk).value().value(), some(40));
  }
}

TEST(MembersFile, EveryFlippedBitIsFound) {
  MemoryDisk disk;
  ASSERT_TRUE(write_members(disk, some(20)).ok());
  const std::vector<std::byte> whole = disk.image(kMembersName);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> damaged = whole;
    damaged[at] ^= std::byte{0x10};
    disk.set_image(kMembersName, damaged);
    EXPECT_EQ(read_members(disk).status().detail(), kDirectoryIdentity) << at;
  }
}

TEST(MembersFile, AShortOneIsDamaged) {
  MemoryDisk disk;
  ASSERT_TRUE(write_members(disk, some(20)).ok());
  const std::vector<std::byte> whole = disk.image(kMembersName);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    disk.set_image(kMembersName, {whole.begin(), whole.begin() + static_cast<long>(size)});
    EXPECT_EQ(read_members(disk).status().detail(), kDirectoryIdentity) << size;
  }
}

}  // namespace
}  // namespace gcoord::ledger
