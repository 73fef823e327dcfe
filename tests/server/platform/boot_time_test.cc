#include "server/platform/boot_time.h"

#include "protocol/error_codes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

TEST(SteadyTime, GrowsWithItsClock) {
  std::uint64_t clock_us = 5'000'000;
  SteadyTime time{[&] { return clock_us; }};
  EXPECT_EQ(time.read(), 5'000'000u);
  EXPECT_EQ(time.read(), 5'000'000u);
  clock_us = 5'002'000;
  EXPECT_EQ(time.read(), 5'002'000u);
  EXPECT_EQ(time.elapsed_ms(), 2u);
  EXPECT_TRUE(time.failure().ok());
}

TEST(SteadyTime, AClockThatGoesBackStandsStillAndIsAFailureForGood) {
  std::uint64_t clock_us = 5'000'000;
  SteadyTime time{[&] { return clock_us; }};
  clock_us = 4'750'000;
  EXPECT_EQ(time.read(), 5'000'000u);
  EXPECT_EQ(time.failure().detail(),
            static_cast<std::uint32_t>(protocol::ErrorCode::ClockBackward));
  EXPECT_THAT(time.failure().message(), testing::HasSubstr("went back"));
  EXPECT_THAT(time.failure().message(), testing::HasSubstr("by 250.000 ms"));
  clock_us = 6'000'000;
  EXPECT_EQ(time.read(), 6'000'000u);
  EXPECT_FALSE(time.failure().ok());
}

}  // namespace
}  // namespace gcoord::server
