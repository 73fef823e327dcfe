// Memory of the CPU stepper's columns: what is in use, though they may grow.
#include "consensus/step/recover.h"
#include "consensus/step/stepper.h"
#include "tests/consensus/voters.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace gcoord::consensus {
namespace {

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(CpuStepper, SlotsThatNobodyHasTakeNoMemory) {
  constexpr std::uint32_t kRows = 200'000;
  constexpr std::size_t kSlack = std::size_t{6} << 20;  // Huge pages begin and end where they like.
  const std::size_t before = resident_bytes();
  const auto stepper = make_cpu_stepper(kRows, 3);
  const std::size_t three = shard_columns_bytes(kRows, 3);
  ASSERT_GT(shard_columns_bytes(kRows, kReplicaSlots), three + 2 * kSlack);
  EXPECT_LT(resident_bytes(), before + three + kSlack);
  ASSERT_TRUE(stepper->grow(kReplicaSlots).ok());
  EXPECT_LT(resident_bytes(), before + three + kSlack);
  EXPECT_EQ(three / kRows, 448u);  // An idle shard of three replicas stays under 512 bytes.
}

TEST(CpuStepper, SlotsThatComeAreEmptyAndTheOthersStay) {
  const auto stepper = make_cpu_stepper(2, 3);
  for (std::uint32_t row = 0; row < 2; ++row) {
    const ShardRef shard(stepper->columns(), row);
    recover(shard, RecoveredShard{.configuration = voters(3)}, NodeId{1});
    shard.progress(2).match = LogIndex{7 + row};
  }
  ASSERT_TRUE(stepper->grow(5).ok());
  ASSERT_TRUE(stepper->grow(4).ok());
  EXPECT_EQ(stepper->columns().slot_count, 5u);
  for (std::uint32_t row = 0; row < 2; ++row) {
    const ShardRef shard(stepper->columns(), row);
    EXPECT_EQ(shard.progress(2).match, LogIndex{7 + row});
    for (std::uint32_t slot = 3; slot < 5; ++slot) {
      EXPECT_EQ(shard.progress(slot).match, LogIndex{0});
      EXPECT_EQ(shard.progress(slot).next, LogIndex{0});
      EXPECT_EQ(shard.progress(slot).acked_session, 0u);
      EXPECT_EQ(shard.progress(slot).flags, 0u);
    }
  }
}

}  // namespace
}  // namespace gcoord::consensus
