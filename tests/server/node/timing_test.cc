// Elections take the same time whatever the length of a tick.
#include "server/node/node_parts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gcoord::server {
namespace {

NodeOptions options_of(std::uint32_t tick_ms, std::uint32_t election_ms = 1000) {
  NodeOptions options;
  options.tick_ms = tick_ms;
  options.election_ms = election_ms;
  options.heartbeat_ms = std::max(tick_ms, election_ms / 10);
  return options;
}

TEST(TimingTest, TicksOfTenMillisecondsAndMoreKeepTheirTiming) {
  for (const std::uint32_t tick_ms : {10u, 11u, 20u, 50u, 100u}) {
    const consensus::Timing timing = timing_of(options_of(tick_ms));
    EXPECT_EQ(timing.election_ticks, 1000 / tick_ms);
    EXPECT_EQ(timing.resend_ticks, 100 / tick_ms);
    EXPECT_EQ(timing.stagger_ticks, 2u);
    EXPECT_EQ(timing.retry_ticks, 0u) << "elections of clusters that run today change";
    EXPECT_EQ(timing.lease_margin_ticks, std::max(1u, 100 / tick_ms));
  }
  EXPECT_EQ(timing_of(options_of(10, 100)).stagger_ticks, 2u);
}

TEST(TimingTest, TicksOfAMillisecondAreAsFarApartInTime) {
  const consensus::Timing timing = timing_of(options_of(1));
  EXPECT_EQ(timing.election_ticks, 1000u);
  EXPECT_EQ(timing.stagger_ticks, 20u);
  EXPECT_EQ(timing.retry_ticks, 10u);
  EXPECT_EQ(timing.lease_margin_ticks, 100u);
}

TEST(TimingTest, BothFitIntoAShortElectionTimeout) {
  for (const std::uint32_t tick_ms : {1u, 2u, 3u, 5u, 9u}) {
    for (const std::uint32_t election_ms : {50u, 100u, 200u, 1000u, 60000u}) {
      if (election_ms < 10 * tick_ms) {
        continue;
      }
      const consensus::Timing timing = timing_of(options_of(tick_ms, election_ms));
      EXPECT_GE(timing.stagger_ticks, 2u);
      EXPECT_LE(timing.stagger_ticks, std::max(2u, timing.election_ticks / 10));
      EXPECT_GE(timing.retry_ticks, 1u);
      EXPECT_LE(timing.retry_ticks * tick_ms, 10u);
      EXPECT_LE(timing.retry_ticks, timing.stagger_ticks);
    }
  }
}

}  // namespace
}  // namespace gcoord::server
