#include "ledger/cluster/repair_file.h"

#include "ledger/base/error_details.h"
#include "ledger/disk/memory_disk.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::ledger {
namespace {

TEST(RepairFile, KeepsWhatWasAddedUntilItIsRemoved) {
  MemoryDisk disk;
  EXPECT_TRUE(read_repair_file(disk).value().empty());
  ASSERT_TRUE(add_to_repair_file(disk, std::vector<RepairedShard>{{ShardId{3}, 7}}).ok());
  disk.lose_power(1);
  const std::vector<RepairedShard> more{{ShardId{9}, ~std::uint64_t{0}}, {ShardId{3}, 8}};
  ASSERT_TRUE(add_to_repair_file(disk, more).ok());
  disk.lose_power(2);
  const std::vector<RepairedShard> all{{ShardId{3}, 8}, {ShardId{9}, ~std::uint64_t{0}}};
  EXPECT_EQ(read_repair_file(disk).value(), all);
  ASSERT_TRUE(remove_repair_file(disk).ok());
  disk.lose_power(3);
  EXPECT_TRUE(read_repair_file(disk).value().empty());
  EXPECT_TRUE(remove_repair_file(disk).ok());
}

TEST(RepairFile, EveryFlippedBitAndEveryCutIsFound) {
  MemoryDisk disk;
  ASSERT_TRUE(add_to_repair_file(disk, std::vector<RepairedShard>{{ShardId{3}, 7}}).ok());
  const auto bytes = read_all(*disk.open("repair").value()).value();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= std::byte{1} << bit % 8;
    ASSERT_TRUE(write_atomically(disk, "repair", flipped).ok());
    ASSERT_EQ(read_repair_file(disk).status().detail(), kHistoryRepair) << bit;
  }
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    ASSERT_TRUE(write_atomically(disk, "repair", std::span(bytes).first(length)).ok());
    ASSERT_EQ(read_repair_file(disk).status().detail(), kHistoryRepair) << length;
  }
}

}  // namespace
}  // namespace gcoord::ledger
