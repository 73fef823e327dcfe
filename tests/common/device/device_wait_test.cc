#include "common/device/device_wait.h"

#include <gtest/gtest.h>

namespace gcoord {
namespace {

TEST(DeviceWait, WhatIsDoneIsFoundWhateverTheLimit) {
  int looks = 0;
  EXPECT_TRUE(wait_for_device(0, kCopyPace, steady_now_us, [&] { return ++looks == 1; }));
  EXPECT_EQ(looks, 1);
}

TEST(DeviceWait, LooksAgainUntilItIsDone) {
  std::uint32_t looks = 0;
  EXPECT_TRUE(wait_for_device(
      60'000, kCopyPace, steady_now_us, [&] { return ++looks == 2 * kCopyPace.spin_looks; }));
  EXPECT_EQ(looks, 2 * kCopyPace.spin_looks);
}

TEST(DeviceWait, ADeviceThatNeverAnswersCostsTheLimitAndNoMore) {
  std::uint32_t looks = 0;
  EXPECT_FALSE(wait_for_device(1, kCopyPace, steady_now_us, [&] {
    ++looks;
    return false;
  }));
  EXPECT_GE(looks, 1u);
}

}  // namespace
}  // namespace gcoord
