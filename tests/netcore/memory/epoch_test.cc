// Epochs go round: the order holds across the end of the numbers.
#include "netcore/memory/epoch.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gcoord::netcore {
namespace {

TEST(Epoch, TheOneAfterTheLastIsTheSecond) {
  EXPECT_EQ(epoch_after(0), 1u);
  EXPECT_EQ(epoch_after(1), 2u);
  EXPECT_EQ(epoch_after(kEpochCount - 1), kEpochCount);
  EXPECT_EQ(epoch_after(kEpochCount), 2u);
}

TEST(Epoch, EachIsLaterThanNoneAndTheOneBefore) {
  EXPECT_FALSE(is_later_epoch(0, 0));
  for (const std::uint32_t epoch : {1u, 2u, kEpochCount / 2, kEpochCount - 1, kEpochCount}) {
    EXPECT_TRUE(is_later_epoch(epoch, 0)) << epoch;
    EXPECT_FALSE(is_later_epoch(0, epoch)) << epoch;
    EXPECT_FALSE(is_later_epoch(epoch, epoch)) << epoch;
    EXPECT_TRUE(is_later_epoch(epoch_after(epoch), epoch)) << epoch;
    EXPECT_FALSE(is_later_epoch(epoch, epoch_after(epoch))) << epoch;
  }
}

TEST(Epoch, OfTwoAtMostOneIsLater) {
  constexpr std::uint32_t kHalf = kEpochCount / 2;
  for (const std::uint32_t from : {1u, 5u, kHalf, kHalf + 7, kEpochCount}) {
    std::uint32_t to = from;
    for (const std::uint32_t steps : {1u, 2u, kHalf - 1, kHalf, kHalf + 1, kEpochCount - 1}) {
      to = (from + steps - 1) % kEpochCount + 1;
      EXPECT_EQ(epoch_steps(from, to), steps);
      EXPECT_EQ(is_later_epoch(to, from), steps < kHalf) << from << " " << steps;
      EXPECT_FALSE(is_later_epoch(to, from) && is_later_epoch(from, to));
    }
  }
  EXPECT_EQ(later_epoch(kEpochCount, 3), 3u);
  EXPECT_EQ(later_epoch(3, kEpochCount), 3u);
  EXPECT_EQ(later_epoch(0, 3), 3u);
}

}  // namespace
}  // namespace gcoord::netcore
