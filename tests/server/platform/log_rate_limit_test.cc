#include "server/platform/log_rate_limit.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gcoord::server {
namespace {

TEST(LogRateLimit, AFewLinesAtOnceAndThenOneInAWhile) {
  LogRateLimit limit;
  std::uint32_t said = 0;
  const std::uint64_t hour_ms = 3'600'000;
  for (std::uint64_t now_ms = hour_ms; now_ms < 2 * hour_ms; now_ms += 10) {
    said += limit.may_log(now_ms) ? 1 : 0;
  }
  EXPECT_EQ(said, LogRateLimit::kAtOnce + hour_ms / LogRateLimit::kPauseMs - 1);
  EXPECT_EQ(limit.take_unsaid(), hour_ms / 10 - said);
  EXPECT_EQ(limit.take_unsaid(), 0u);
  EXPECT_TRUE(limit.may_log(10 * hour_ms));
}

}  // namespace
}  // namespace gcoord::server
