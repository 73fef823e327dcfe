#include "client/core/session_lease.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart = 1000s;

SessionLeaseOptions options_of(std::size_t node_count) {
  return {.ttl = 9s, .margin = 100ms, .node_count = node_count, .opened_at = kStart};
}

std::vector<SessionEvent> events_until(SessionLease& lease, TimePoint now) {
  std::vector<SessionEvent> events;
  while (const auto event = lease.advance(now)) {
    events.push_back(*event);
  }
  return events;
}

TEST(SessionLease, LastsFromItsOpeningForTheTtlLessTheMargin) {
  SessionLease lease{options_of(3)};
  EXPECT_EQ(lease.certain_until(), kStart + 8900ms);
}

TEST(SessionLease, IsNotRenewedByAMinority) {
  SessionLease lease{options_of(3)};
  lease.on_acknowledged(NodeId{1}, kStart + 3s);
  lease.on_acknowledged(NodeId{1}, kStart + 4s);
  EXPECT_EQ(lease.certain_until(), kStart + 8900ms);
}

TEST(SessionLease, IsRenewedFromTheOldestSendTimeOfTheNewestMajority) {
  SessionLease lease{options_of(3)};
  lease.on_acknowledged(NodeId{1}, kStart + 3s);
  lease.on_acknowledged(NodeId{2}, kStart + 2s);
  EXPECT_EQ(lease.certain_until(), kStart + 2s + 8900ms);
  lease.on_acknowledged(NodeId{3}, kStart + 5s);
  EXPECT_EQ(lease.certain_until(), kStart + 3s + 8900ms);
}

TEST(SessionLease, OfFiveNodesNeedsThree) {
  SessionLease lease{options_of(5)};
  lease.on_acknowledged(NodeId{1}, kStart + 3s);
  lease.on_acknowledged(NodeId{2}, kStart + 3s);
  EXPECT_EQ(lease.certain_until(), kStart + 8900ms);
  lease.on_acknowledged(NodeId{5}, kStart + 1s);
  EXPECT_EQ(lease.certain_until(), kStart + 1s + 8900ms);
}

TEST(SessionLease, IsNotShortenedByAnOldAcknowledgement) {
  SessionLease lease{options_of(1)};
  lease.on_acknowledged(NodeId{1}, kStart + 3s);
  lease.on_acknowledged(NodeId{1}, kStart + 1s);
  EXPECT_EQ(lease.certain_until(), kStart + 3s + 8900ms);
}

TEST(SessionLease, TellsJeopardyAfterTwoThirdsAndSafeWhenRenewed) {
  SessionLease lease{options_of(1)};
  EXPECT_TRUE(events_until(lease, kStart + 5999ms).empty());
  EXPECT_EQ(lease.next_event(), kStart + 6s);
  EXPECT_EQ(events_until(lease, kStart + 6s), std::vector{SessionEvent::Jeopardy});
  EXPECT_TRUE(events_until(lease, kStart + 7s).empty());
  lease.on_acknowledged(NodeId{1}, kStart + 6s);
  EXPECT_EQ(events_until(lease, kStart + 7s), std::vector{SessionEvent::Safe});
}

TEST(SessionLease, ExpiresAtItsDeadlineOnceAndForGood) {
  SessionLease lease{options_of(1)};
  EXPECT_EQ(events_until(lease, kStart + 6s), std::vector{SessionEvent::Jeopardy});
  EXPECT_TRUE(events_until(lease, kStart + 8899ms).empty());
  EXPECT_EQ(events_until(lease, kStart + 8900ms), std::vector{SessionEvent::Expired});
  lease.on_acknowledged(NodeId{1}, kStart + 8s);
  EXPECT_TRUE(events_until(lease, kStart + 9s).empty());
  EXPECT_TRUE(lease.expired());
  EXPECT_LE(lease.certain_until(), kStart);
  EXPECT_EQ(lease.next_event(), kTimeNever);
}

TEST(SessionLease, TellsJeopardyBeforeExpiryEvenAfterALongStop) {
  SessionLease lease{options_of(1)};
  EXPECT_EQ(events_until(lease, kStart + 1h),
            (std::vector{SessionEvent::Jeopardy, SessionEvent::Expired}));
}

TEST(SessionLease, ThatANodeCallsLostExpiresAtOnce) {
  SessionLease lease{options_of(3)};
  lease.on_lost();
  EXPECT_EQ(events_until(lease, kStart),
            (std::vector{SessionEvent::Jeopardy, SessionEvent::Expired}));
}

TEST(SessionLease, OfAnAttachedSessionIsUncertainUntilAMajorityAnswers) {
  SessionLeaseOptions options = options_of(3);
  options.attached = true;
  SessionLease lease{options};
  EXPECT_LE(lease.certain_until(), kStart);
  lease.on_acknowledged(NodeId{1}, kStart + 1s);
  EXPECT_LE(lease.certain_until(), kStart);
  lease.on_acknowledged(NodeId{2}, kStart + 1s);
  EXPECT_EQ(lease.certain_until(), kStart + 1s + 8900ms);
}

TEST(SessionLease, MarginIsAPartOfTheTtlAndAFixedPart) {
  ClientOptions options;
  EXPECT_EQ(lease_margin(10s, options), 110ms);
  EXPECT_EQ(lease_margin(15ms, options), 7500us);
}

}  // namespace
}  // namespace gcoord::client
