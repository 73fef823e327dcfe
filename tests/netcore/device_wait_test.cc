#include "netcore/device_wait.h"

#include <gtest/gtest.h>

namespace gcoord::netcore {
namespace {

TEST(DeviceWait, WhatIsDoneIsFoundWhateverTheLimit) {
  int looks = 0;
  EXPECT_TRUE(wait_for_device(0, [&] { return ++looks == 1; }));
  EXPECT_EQ(looks, 1);
}

TEST(DeviceWait, LooksAgainUntilItIsDone) {
  std::uint32_t looks = 0;
  EXPECT_TRUE(wait_for_device(60'000, [&] { return ++looks == 2 * kDeviceSpinLooks; }));
  EXPECT_EQ(looks, 2 * kDeviceSpinLooks);
}

TEST(DeviceWait, ADeviceThatNeverAnswersCostsTheLimitAndNoMore) {
  std::uint32_t looks = 0;
  EXPECT_FALSE(wait_for_device(1, [&] {
    ++looks;
    return false;
  }));
  EXPECT_GE(looks, 1u);
}

}  // namespace
}  // namespace gcoord::netcore
