// The classic elections, held to the message counts of their papers.
#include "membership/coordinator/step.h"

#include "membership/coordinator/network.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gcoord::coordinator {
namespace {

constexpr std::uint64_t kTicks = 10'000;

Network bullies(std::uint32_t count) {
  return Network{{.method = Method::Bully, .ranks = ranks_rising(count)}};
}

Network ring(std::vector<std::uint8_t> ranks) {
  return Network{{.method = Method::Ring, .ranks = std::move(ranks)}};
}

void stand_all(Network& network) {
  for (std::uint8_t place = 0; place < network.node_count(); ++place) {
    network.stand(place);
  }
}

void expect_all_follow(const Network& network, std::uint8_t coordinator, std::uint64_t but = 0) {
  for (std::uint8_t place = 0; place < network.node_count(); ++place) {
    if ((but >> place & 1) == 0) {
      EXPECT_EQ(network.row(place).coordinator, coordinator) << int{place};
    }
  }
}

// All follow the highest before it fails.
Network led_bullies(std::uint32_t count) {
  Network network = bullies(count);
  Traffic traffic;
  network.stand(static_cast<std::uint8_t>(count - 1));
  EXPECT_TRUE(network.run(kTicks, traffic));
  EXPECT_EQ(traffic.sum(), count - 1) << "the highest one asks nobody";
  network.fail(static_cast<std::uint8_t>(count - 1));
  return network;
}

// Garcia-Molina, section III: at worst the lowest node finds the failure and everybody stands:
// n(n-1)/2 questions, an answer to each but those to the failed one, and n-2 announcements.
TEST(Coordinator, Row111BullyIsQuadraticWhenTheLowestNodeFindsTheFailure) {
  for (const std::uint32_t n : {3u, 4u, 8u, 16u, 64u}) {
    Network network = led_bullies(n);
    network.suspect(0, static_cast<std::uint8_t>(n - 1));
    Traffic traffic;
    ASSERT_TRUE(network.run(kTicks, traffic));
    EXPECT_EQ(traffic.of(MessageKind::Election), n * (n - 1) / 2);
    EXPECT_EQ(traffic.of(MessageKind::Answer), (n - 1) * (n - 2) / 2);
    EXPECT_EQ(traffic.of(MessageKind::Coordinator), n - 2);
    expect_all_follow(network, static_cast<std::uint8_t>(n - 2), std::uint64_t{1} << (n - 1));
  }
}

// At best the second highest does: it asks the failed one, and announces to the n-2 below it.
TEST(Coordinator, Row111BullyIsLinearWhenTheNextOneFindsTheFailure) {
  for (const std::uint32_t n : {3u, 4u, 8u, 16u, 64u}) {
    Network network = led_bullies(n);
    network.suspect(static_cast<std::uint8_t>(n - 2), static_cast<std::uint8_t>(n - 1));
    Traffic traffic;
    ASSERT_TRUE(network.run(kTicks, traffic));
    EXPECT_EQ(traffic.of(MessageKind::Election), 1u);
    EXPECT_EQ(traffic.of(MessageKind::Answer), 0u);
    EXPECT_EQ(traffic.of(MessageKind::Coordinator), n - 2);
    expect_all_follow(network, static_cast<std::uint8_t>(n - 2), std::uint64_t{1} << (n - 1));
  }
}

TEST(Coordinator, Row111TheHighestBulliesItsWayBack) {
  Network network = led_bullies(5);
  network.suspect(2, 4);
  Traffic traffic;
  ASSERT_TRUE(network.run(kTicks, traffic));
  expect_all_follow(network, 3, 1u << 4);
  network.recover(4);
  ASSERT_TRUE(network.run(kTicks, traffic));
  EXPECT_EQ(traffic.sum(), 4u);
  expect_all_follow(network, 4);
}

// Two fail at once: whoever answered does not come through, and the election begins anew.
TEST(Coordinator, Row111AnElectionWhoseWinnerFailsBeginsAnew) {
  Network network = led_bullies(5);
  network.suspect(0, 4);
  Traffic traffic;
  EXPECT_FALSE(network.run(3, traffic));
  network.fail(3);
  ASSERT_TRUE(network.run(kTicks, traffic));
  expect_all_follow(network, 2, 0b11000);
}

// Chang and Roberts, section 3: when all stand, ranks that fall in the direction of travel cost
// n(n+1)/2, ranks that rise 2n-1; then n to tell.
TEST(Coordinator, Row112ARingCostsWhatItsOrderMakesIt) {
  for (const std::uint32_t n : {2u, 3u, 8u, 16u, 64u}) {
    Network worst = ring(ranks_falling(n));
    stand_all(worst);
    Traffic traffic;
    ASSERT_TRUE(worst.run(kTicks, traffic));
    EXPECT_EQ(traffic.of(MessageKind::Election), n * (n + 1) / 2);
    EXPECT_EQ(traffic.of(MessageKind::Coordinator), n);
    expect_all_follow(worst, 0);
    Network best = ring(ranks_rising(n));
    stand_all(best);
    ASSERT_TRUE(best.run(kTicks, traffic));
    EXPECT_EQ(traffic.of(MessageKind::Election), 2 * n - 1);
    EXPECT_EQ(traffic.of(MessageKind::Coordinator), n);
    expect_all_follow(best, static_cast<std::uint8_t>(n - 1));
  }
}

// Their theorem: over all orders of n ranks the mean is n * (1 + 1/2 + ... + 1/n).
TEST(Coordinator, Row112OverAllOrdersTheMeanIsThatOfThePaper) {
  constexpr std::uint32_t kNodes = 6;
  std::vector<std::uint8_t> ranks = ranks_rising(kNodes);
  std::uint64_t messages = 0;
  std::uint64_t orders = 0;
  do {
    Network network = ring(ranks);
    stand_all(network);
    Traffic traffic;
    ASSERT_TRUE(network.run(kTicks, traffic));
    messages += traffic.of(MessageKind::Election);
    ++orders;
  } while (std::ranges::next_permutation(ranks).found);
  EXPECT_EQ(orders, 720u);
  // 6 * (1 + 1/2 + 1/3 + 1/4 + 1/5 + 1/6) = 14.7.
  EXPECT_EQ(messages * 10, orders * 147);
}

// One node finds the failure: at worst it stands right behind the highest, n-1 hops until the rank
// is swallowed there, then a whole round and the telling: 3n-1 in all of the n that are left.
TEST(Coordinator, Row112ASingleCandidateCostsAtMostThreeRounds) {
  for (const std::uint32_t n : {3u, 8u, 16u, 63u}) {
    Network network = ring(ranks_rising(n));
    network.stand(0);
    Traffic traffic;
    ASSERT_TRUE(network.run(kTicks, traffic));
    EXPECT_EQ(traffic.sum(), 3 * n - 1);
    expect_all_follow(network, static_cast<std::uint8_t>(n - 1));
  }
}

TEST(Coordinator, Row112ARingPassesOverWhomItSuspects) {
  Network network = ring({3, 1, 4, 2, 0});
  network.stand(1);
  Traffic traffic;
  ASSERT_TRUE(network.run(kTicks, traffic));
  expect_all_follow(network, 2);
  network.fail(2);
  for (const int each : {0, 1, 3, 4}) {
    const auto place = static_cast<std::uint8_t>(each);
    network.suspect(place, 2);
  }
  ASSERT_TRUE(network.run(kTicks, traffic));
  expect_all_follow(network, 0, 1u << 2);
}

// Why neither decides anything that matters here.
TEST(Coordinator, Row111And112TwoHalvesElectTwoCoordinators) {
  Network network = bullies(4);
  network.cut(0b0011);
  stand_all(network);
  Traffic traffic;
  ASSERT_TRUE(network.run(kTicks, traffic));
  EXPECT_EQ(network.row(0).coordinator, 1u);
  EXPECT_EQ(network.row(2).coordinator, 3u);
}

// As after a cut: the lower one of two coordinators says that it is, and is bullied.
TEST(Coordinator, Row111And112WhoHearsOfALowerCoordinatorStands) {
  for (const Method method : {Method::Bully, Method::Ring}) {
    NodeRow row{.method = method, .self = 1, .rank = 1, .node_count = 3, .coordinator = 1};
    Outbox out;
    on_message(row, {MessageKind::Coordinator, 0, 1, 0, 0}, 7, out);
    EXPECT_EQ(row.phase, Phase::Asked);
    ASSERT_EQ(out.count, 1u);
    EXPECT_EQ(out.messages[0].kind, MessageKind::Election);
    EXPECT_EQ(out.messages[0].to, 2u);
    // It says so often. What is under way is not put off by that.
    const std::uint64_t deadline = row.deadline_tick;
    on_message(row, {MessageKind::Coordinator, 0, 1, 0, 0}, 8, out);
    EXPECT_EQ(row.deadline_tick, deadline);
    EXPECT_EQ(out.count, 1u);
  }
}

TEST(Coordinator, Row112WhoIsHeardAgainIsNotPassedOverAnyMore) {
  NodeRow row{.method = Method::Ring, .self = 0, .node_count = 3};
  Outbox out;
  on_suspicion(row, 1, 1, out);
  EXPECT_EQ(ring_next(row), 2u);
  on_return(row, 1);
  EXPECT_EQ(ring_next(row), 1u);
  on_return(row, 200);  // No place of this ring.
  EXPECT_EQ(row.suspects, 0u);
}

TEST(Coordinator, MessagesThatCannotBeAreDroppedAndCounted) {
  for (const Method method : {Method::Bully, Method::Ring}) {
    NodeRow row{.method = method, .self = 1, .rank = 1, .node_count = 3};
    Outbox out;
    const MessageKind kind = MessageKind::Election;
    const Message messages[] = {{MessageKind{9}, 2, 1, 2, 2},
                                {kind, 2, 0, 2, 2},
                                {kind, 3, 1, 2, 2},
                                {kind, 1, 1, 2, 2},
                                {kind, 2, 1, 200, 2}};
    for (const Message& message : messages) {
      on_message(row, message, 1, out);
    }
    EXPECT_EQ(row.dropped_count, 5u);
    EXPECT_EQ(out.count, 0u);
    EXPECT_EQ(row.phase, Phase::Idle);
  }
}

}  // namespace
}  // namespace gcoord::coordinator
