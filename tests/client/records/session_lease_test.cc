#include "client/records/session_lease.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart = 1000s;

SessionLeaseOptions options() {
  return {.ttl = 9s, .margin = 100ms, .opened_at = kStart};
}

std::vector<NodeId> ids(const std::vector<std::uint32_t>& values) {
  std::vector<NodeId> result;
  for (const std::uint32_t value : values) {
    result.push_back(NodeId{value});
  }
  return result;
}

// Nodes 1 to n.
VoterLists first(std::uint32_t count) {
  VoterLists voters{{{}}};
  for (std::uint32_t id = 1; id <= count; ++id) {
    voters.lists.front().push_back(NodeId{id});
  }
  return voters;
}

std::vector<SessionEvent> events_until(SessionLease& lease, TimePoint now) {
  std::vector<SessionEvent> events;
  while (const auto event = lease.advance(now)) {
    events.push_back(*event);
  }
  return events;
}

TEST(SessionLease, LastsFromItsOpeningForTheTtlLessTheMargin) {
  SessionLease lease{options()};
  EXPECT_EQ(lease.certain_until(), kStart + 8900ms);
}

TEST(SessionLease, IsNotRenewedByAMinority) {
  SessionLease lease{options()};
  const VoterLists voters = first(3);
  lease.on_acknowledged(NodeId{1}, kStart + 3s, voters);
  lease.on_acknowledged(NodeId{1}, kStart + 4s, voters);
  EXPECT_EQ(lease.certain_until(), kStart + 8900ms);
}

TEST(SessionLease, IsRenewedFromTheOldestSendTimeOfTheNewestMajority) {
  SessionLease lease{options()};
  const VoterLists voters = first(3);
  lease.on_acknowledged(NodeId{1}, kStart + 3s, voters);
  lease.on_acknowledged(NodeId{2}, kStart + 2s, voters);
  EXPECT_EQ(lease.certain_until(), kStart + 2s + 8900ms);
  lease.on_acknowledged(NodeId{3}, kStart + 5s, voters);
  EXPECT_EQ(lease.certain_until(), kStart + 3s + 8900ms);
}

TEST(SessionLease, OfFiveNodesNeedsThree) {
  SessionLease lease{options()};
  const VoterLists voters = first(5);
  lease.on_acknowledged(NodeId{1}, kStart + 3s, voters);
  lease.on_acknowledged(NodeId{2}, kStart + 3s, voters);
  EXPECT_EQ(lease.certain_until(), kStart + 8900ms);
  lease.on_acknowledged(NodeId{5}, kStart + 1s, voters);
  EXPECT_EQ(lease.certain_until(), kStart + 1s + 8900ms);
}

TEST(SessionLease, IsNotShortenedByAnOldAcknowledgement) {
  SessionLease lease{options()};
  const VoterLists voters = first(1);
  lease.on_acknowledged(NodeId{1}, kStart + 3s, voters);
  lease.on_acknowledged(NodeId{1}, kStart + 1s, voters);
  EXPECT_EQ(lease.certain_until(), kStart + 3s + 8900ms);
}

TEST(SessionLease, TellsJeopardyAfterTwoThirdsAndSafeWhenRenewed) {
  SessionLease lease{options()};
  const VoterLists voters = first(1);
  EXPECT_TRUE(events_until(lease, kStart + 5999ms).empty());
  EXPECT_EQ(lease.next_event(), kStart + 6s);
  EXPECT_EQ(events_until(lease, kStart + 6s), std::vector{SessionEvent::Jeopardy});
  EXPECT_TRUE(events_until(lease, kStart + 7s).empty());
  lease.on_acknowledged(NodeId{1}, kStart + 6s, voters);
  EXPECT_EQ(events_until(lease, kStart + 7s), std::vector{SessionEvent::Safe});
}

TEST(SessionLease, ExpiresAtItsDeadlineOnceAndForGood) {
  SessionLease lease{options()};
  const VoterLists voters = first(1);
  EXPECT_EQ(events_until(lease, kStart + 6s), std::vector{SessionEvent::Jeopardy});
  EXPECT_TRUE(events_until(lease, kStart + 8899ms).empty());
  EXPECT_EQ(events_until(lease, kStart + 8900ms), std::vector{SessionEvent::Expired});
  lease.on_acknowledged(NodeId{1}, kStart + 8s, voters);
  EXPECT_TRUE(events_until(lease, kStart + 9s).empty());
  EXPECT_TRUE(lease.expired());
  EXPECT_LE(lease.certain_until(), kStart);
  EXPECT_EQ(lease.next_event(), kTimeNever);
}

TEST(SessionLease, TellsJeopardyBeforeExpiryEvenAfterALongStop) {
  SessionLease lease{options()};
  EXPECT_EQ(events_until(lease, kStart + 1h),
            (std::vector{SessionEvent::Jeopardy, SessionEvent::Expired}));
}

TEST(SessionLease, ThatANodeCallsLostExpiresAtOnce) {
  SessionLease lease{options()};
  lease.on_lost();
  EXPECT_EQ(events_until(lease, kStart),
            (std::vector{SessionEvent::Jeopardy, SessionEvent::Expired}));
}

TEST(SessionLease, OfAnAttachedSessionIsUncertainUntilAMajorityAnswers) {
  SessionLeaseOptions attached = options();
  attached.attached = true;
  SessionLease lease{attached};
  const VoterLists voters = first(3);
  EXPECT_LE(lease.certain_until(), kStart);
  lease.on_acknowledged(NodeId{1}, kStart + 1s, voters);
  EXPECT_LE(lease.certain_until(), kStart);
  lease.on_acknowledged(NodeId{2}, kStart + 1s, voters);
  EXPECT_EQ(lease.certain_until(), kStart + 1s + 8900ms);
}

TEST(SessionLease, CountsNobodyWhoHasNoVote) {
  SessionLease lease{options()};
  const VoterLists voters{{ids({1, 2, 3})}};
  lease.on_acknowledged(NodeId{1}, kStart + 3s, voters);
  lease.on_acknowledged(NodeId{4}, kStart + 3s, voters);
  lease.on_acknowledged(NodeId{5}, kStart + 3s, voters);
  EXPECT_EQ(lease.certain_until(), kStart + 8900ms);
  lease.on_acknowledged(NodeId{3}, kStart + 2s, voters);
  EXPECT_EQ(lease.certain_until(), kStart + 2s + 8900ms);
}

TEST(SessionLease, NeedsAMajorityOfEveryListAndCountsFromTheOldestOfThem) {
  SessionLease lease{options()};
  const VoterLists voters{{ids({1, 2, 3, 4, 5}), ids({1, 2, 3})}};
  lease.on_acknowledged(NodeId{3}, kStart + 3s, voters);
  lease.on_acknowledged(NodeId{4}, kStart + 3s, voters);
  lease.on_acknowledged(NodeId{5}, kStart + 3s, voters);
  EXPECT_EQ(lease.certain_until(), kStart + 8900ms) << "one of the three of before";
  lease.on_acknowledged(NodeId{1}, kStart + 1s, voters);
  EXPECT_EQ(lease.certain_until(), kStart + 1s + 8900ms);
}

TEST(SessionLease, CountsAnewWhenOthersHaveAVote) {
  SessionLease lease{options()};
  const VoterLists old{{ids({1, 2, 3})}};
  lease.on_acknowledged(NodeId{3}, kStart + 3s, old);
  lease.on_acknowledged(NodeId{4}, kStart + 2s, old);
  EXPECT_EQ(lease.certain_until(), kStart + 8900ms);
  lease.recount({{ids({3, 4, 5})}});
  EXPECT_EQ(lease.certain_until(), kStart + 2s + 8900ms);
  lease.recount(old);
  EXPECT_EQ(lease.certain_until(), kStart + 2s + 8900ms) << "what was certain stays so";
  lease.recount({});
  EXPECT_EQ(lease.certain_until(), kStart + 2s + 8900ms);
}

TEST(SessionLease, MarginIsAPartOfTheTtlAndAFixedPart) {
  ClientOptions options;
  EXPECT_EQ(lease_margin(10s, options), 110ms);
  EXPECT_EQ(lease_margin(15ms, options), 7500us);
}

}  // namespace
}  // namespace gcoord::client
