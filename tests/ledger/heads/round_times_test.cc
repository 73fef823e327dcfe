#include "ledger/heads/round_times.h"

#include "tests/ledger/publication/publication_world.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kLongMs = 20'000;

// A round was told to be as old as news that another one had, or another publisher's: seconds.
TEST(RoundTimes, ARoundIsAsOldAsItsOwnNews) {
  PublicationWorld world({});
  world.lead(1);
  world.decide(1, "once");
  ASSERT_TRUE(world.settle(kLongMs));
  world.run(1000);  // Keys are decided, too.
  // What the round had already, since a tree may be ahead of who is told so.
  world.node(1).publication->touch(ShardId{1}, 1, world.now_ms());
  world.run(5000);
  world.decide(2, "again");
  ASSERT_TRUE(world.settle(kLongMs));
  const RoundDuration first = world.node(1).publication->view().slowest;
  EXPECT_GT(first.heads, 0u);
  EXPECT_LE(first.total_ms, 1000u);
  world.run(5000);
  world.lead(2);
  world.decide(3, "elsewhere");
  ASSERT_TRUE(world.settle(kLongMs));
  const RoundDuration other = world.node(2).publication->view().slowest;
  EXPECT_GT(other.heads, 0u);
  EXPECT_LE(other.total_ms, 1000u);
}

TEST(RoundTimes, AHeadThatWasHeldCountsFromItsNews) {
  PublicationWorld world({.shard_count = 8});
  world.lead(1);
  world.run(1000);
  // Two of three nodes cannot read the shard: no majority for its head, which is held for a second.
  world.node(2).damaged.insert(5);
  world.node(3).damaged.insert(5);
  world.decide(5, "held");
  world.decide(6, "not");
  world.run(700);
  world.node(2).damaged.clear();
  world.node(3).damaged.clear();
  world.run(3000);
  const auto head = world.node(1).publication->head(ShardId{5});
  EXPECT_EQ(head.size, 1u);
  EXPECT_GE(world.node(1).counter("rounds_split_total"), 1u);
  EXPECT_GE(world.node(1).publication->view().slowest.total_ms, 1000u);
}

TEST(RoundTimes, PhasesAddUpAndTheSlowestRoundIsKept) {
  MetricsRegistry metrics;
  RoundTimes times(metrics);
  times.begin({.news_ms = 100, .begin_ms = 300, .size = 10, .heads = 10}, 310);
  times.agreed(330);
  times.begin({.news_ms = 310, .begin_ms = 340, .size = 12, .heads = 2}, 341);
  times.ordered(10, 350);
  times.signed_here(10, 390);
  times.published(10, 400);
  const std::array<std::uint64_t, kRoundPhases> expected{200, 10, 20, 20, 40, 10};
  EXPECT_EQ(times.slowest().phase_ms, expected);
  EXPECT_EQ(times.slowest().total_ms, 300u);
  // Signed by the others before it was here: what was not seen ends with what was.
  times.published(12, 420);
  EXPECT_EQ(times.slowest().heads, 10u);
  const MetricName total{"gcoord_server_publication_duration_seconds", "", "", ""};
  EXPECT_EQ(metrics.histogram(total).sum_us(), 410'000u);
  // Given up: its news are another round's.
  times.begin({.news_ms = 500, .begin_ms = 510, .size = 13, .heads = 1}, 511);
  EXPECT_EQ(times.give_up(14), std::nullopt);
  EXPECT_EQ(times.give_up(13), 500u);
  times.published(20, 900);
  EXPECT_EQ(metrics.histogram(total).sum_us(), 410'000u);
}

}  // namespace
}  // namespace gcoord::server
