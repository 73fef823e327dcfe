#include "bench/report/busy_share.h"

#include <gtest/gtest.h>

namespace gcoord::bench {
namespace {

TEST(BusyShare, TimeWithoutWorkAndTimeOfWaitingForDisksAreNotBusy) {
  const auto time = core_time("cpu  100 20 30 500 40 5 6 7 90 0");
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(time->all, 708u);
  EXPECT_EQ(time->busy, 168u);
}

TEST(BusyShare, OtherLinesAreNone) {
  EXPECT_FALSE(core_time("").has_value());
  EXPECT_FALSE(core_time("cpu0 1 2 3 4 5 6 7 8").has_value());
  EXPECT_FALSE(core_time("cpu 1 2 3 4").has_value());
  EXPECT_FALSE(core_time("cpu 1 2 3 x 5 6 7 8").has_value());
}

}  // namespace
}  // namespace gcoord::bench
