#include "netcore/memory/call_pacing.h"

#include <gtest/gtest.h>

namespace gcoord::netcore {
namespace {

TEST(CallPacing, PausesDoubleUpToTheGreatestAndStartOver) {
  CallPacing pacing{10, 40};
  EXPECT_TRUE(pacing.is_due(0));
  std::uint64_t now = 100;
  for (const std::uint64_t pause : {10u, 20u, 40u, 40u}) {
    pacing.on_failure(now);
    EXPECT_FALSE(pacing.is_due(now + pause - 1));
    EXPECT_TRUE(pacing.is_due(now + pause));
    now += pause;
  }
  pacing.on_success();
  pacing.on_failure(now);
  EXPECT_EQ(pacing.next_ms(), now + 10);
}

TEST(CallPacing, ARefusalWaitsTheGreatestPause) {
  CallPacing pacing{10, 40};
  pacing.on_refusal(100);
  EXPECT_EQ(pacing.next_ms(), 140u);
}

}  // namespace
}  // namespace gcoord::netcore
