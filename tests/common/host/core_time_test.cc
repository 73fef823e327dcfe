#include "common/host/core_time.h"

#include <gtest/gtest.h>

namespace gcoord {
namespace {

TEST(CoreTime, TimeWithoutWorkAndTimeOfWaitingForDisksAreNotBusy) {
  const auto time = parse_core_time("cpu  100 20 30 500 40 5 6 7 90 0");
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(time->all, 708u);
  EXPECT_EQ(time->busy, 168u);
}

TEST(CoreTime, OtherLinesAreNone) {
  EXPECT_FALSE(parse_core_time("").has_value());
  EXPECT_FALSE(parse_core_time("cpu0 1 2 3 4 5 6 7 8").has_value());
  EXPECT_FALSE(parse_core_time("cpu 1 2 3 4").has_value());
  EXPECT_FALSE(parse_core_time("cpu 1 2 3 x 5 6 7 8").has_value());
}

TEST(CoreTime, AShareIsOfTheTimeBetweenTwoReadings) {
  EXPECT_DOUBLE_EQ(busy_share({.busy = 10, .all = 100}, {.busy = 40, .all = 200}), 0.3);
  EXPECT_DOUBLE_EQ(busy_share({.busy = 10, .all = 100}, {.busy = 10, .all = 100}), 0);
  EXPECT_DOUBLE_EQ(busy_share({.busy = 10, .all = 100}, {}), 0) << "the system does not say";
}

TEST(CoreTime, OfThisMachineGoesOn) {
  const CoreTime before = read_core_time();
  EXPECT_GT(before.all, before.busy);
  EXPECT_GE(read_core_time().all, before.all);
}

}  // namespace
}  // namespace gcoord
