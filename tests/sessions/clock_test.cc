// The volatile session clock (S3 and S7 to S9 of docs/reference/services.md).
#include "sessions/clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace gcoord::sessions {
namespace {

// Ticks of 10 ms: a TTL of 1,000 ms is 100 ticks and one for the tick it was heard in.
constexpr std::uint64_t kTtlTicks = 101;
constexpr std::uint64_t kElectionTicks = 30;

class SessionClockTest : public testing::Test {
 protected:
  SessionClockTest() { clock_.reserve(100); }

  void add(std::uint32_t row, std::uint64_t session, Tick now, bool led = true) {
    clock_.on_registered({.row = SessionRow{row},
                          .shard = ShardId{row % 4},
                          .session = SessionId{session},
                          .serial = row,
                          .ttl_ms = 1000},
                         now,
                         led);
  }

  std::vector<ExpiryProposal> expired(Tick now, std::size_t max = 100) {
    std::vector<ExpiryProposal> out(max);
    out.resize(clock_.expired(now, out));
    return out;
  }

  SessionClock clock_{{.tick_ms = 10, .expired_remembered_max = 4, .index_seed = 3}};
};

TEST_F(SessionClockTest, SilentSessionRunsOutOneTickAfterItsTtlAndNotBefore) {
  add(1, 7, Tick{50});
  EXPECT_TRUE(expired(Tick{50 + kTtlTicks - 1}).empty());
  const auto due = expired(Tick{50 + kTtlTicks});
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].session, SessionId{7});
  EXPECT_EQ(due[0].serial, 1u);
  EXPECT_EQ(due[0].shard, ShardId{1});
}

TEST_F(SessionClockTest, ExpiryIsProposedOnceUntilItIsRefused) {
  add(1, 7, Tick{0});
  const auto due = expired(Tick{200});
  ASSERT_EQ(due.size(), 1u);
  EXPECT_TRUE(expired(Tick{300}).empty());
  clock_.on_expiry_refused(due[0], Tick{300});
  EXPECT_EQ(expired(Tick{300}).size(), 1u);
}

TEST_F(SessionClockTest, AnEndThatWasPutOffIsDueLaterUnlessItIsProposedBeforeThat) {
  add(1, 7, Tick{0});
  add(2, 8, Tick{0});
  const auto due = expired(Tick{200});
  ASSERT_EQ(due.size(), 2u);
  clock_.on_expiry_refused(due[0], Tick{250});
  clock_.on_expiry_refused(due[1], Tick{250});
  EXPECT_TRUE(expired(Tick{249}).empty());
  // A keep-alive that comes meanwhile counts; of the one that is proposed it is too late.
  EXPECT_TRUE(clock_.propose(due[0]));
  EXPECT_FALSE(clock_.propose(due[0]));
  EXPECT_EQ(clock_.renew(due[0].session, Tick{240}).code, RenewCode::Lost);
  EXPECT_EQ(clock_.renew(due[1].session, Tick{240}).code, RenewCode::Renewed);
  EXPECT_TRUE(expired(Tick{250}).empty());
}

TEST_F(SessionClockTest, RefusalOfARowThatServesAnotherRegistrationChangesNothing) {
  add(1, 7, Tick{0});
  const auto due = expired(Tick{200});
  clock_.on_removed(SessionRow{1}, true);
  clock_.on_registered({.row = SessionRow{1},
                        .shard = ShardId{1},
                        .session = SessionId{8},
                        .serial = 9,
                        .ttl_ms = 1000},
                       Tick{200},
                       true);
  clock_.on_expiry_refused(due.at(0), Tick{201});
  EXPECT_TRUE(expired(Tick{202}).empty());
}

TEST_F(SessionClockTest, S3OneKeepAliveRenewsEveryRegistrationOfTheSession) {
  for (std::uint32_t row = 1; row <= 50; ++row) {
    add(row, row % 2 == 0 ? 7 : 8, Tick{0});
  }
  const RenewOutcome outcome = clock_.renew(SessionId{7}, Tick{60});
  EXPECT_EQ(outcome.code, RenewCode::Renewed);
  EXPECT_EQ(outcome.registration_count, 25u);
  EXPECT_EQ(outcome.ttl_ms_min, 1000u);
  const auto due = expired(Tick{kTtlTicks});
  EXPECT_EQ(due.size(), 25u);
  for (const ExpiryProposal& proposal : due) {
    EXPECT_EQ(proposal.session, SessionId{8});
  }
  EXPECT_EQ(expired(Tick{60 + kTtlTicks}).size(), 25u);
}

TEST_F(SessionClockTest, KeepAliveOfManySessionsTellsWhichAreLost) {
  add(1, 7, Tick{0});
  add(2, 8, Tick{0});
  clock_.on_removed(SessionRow{2}, true);
  const std::array<SessionId, 3> sessions = {SessionId{7}, SessionId{8}, SessionId{9}};
  std::array<RenewOutcome, 3> outcomes;
  clock_.renew_all(sessions, Tick{5}, outcomes);
  EXPECT_EQ(outcomes[0].code, RenewCode::Renewed);
  EXPECT_EQ(outcomes[1].code, RenewCode::Lost);
  EXPECT_EQ(outcomes[2].code, RenewCode::NotRegistered);
}

TEST_F(SessionClockTest, KeepAliveAfterTheExpiryWasProposedIsLostAndRenewsNothing) {
  add(1, 7, Tick{0});
  add(2, 7, Tick{60});
  ASSERT_EQ(expired(Tick{kTtlTicks}).size(), 1u);
  EXPECT_EQ(clock_.renew(SessionId{7}, Tick{110}).code, RenewCode::Lost);
  EXPECT_EQ(expired(Tick{60 + kTtlTicks}).size(), 1u);
}

TEST_F(SessionClockTest, RegistrationThatWasDroppedIsNotRememberedAsLost) {
  add(1, 7, Tick{0});
  clock_.on_removed(SessionRow{1}, false);
  EXPECT_EQ(clock_.renew(SessionId{7}, Tick{5}).code, RenewCode::NotRegistered);
}

TEST_F(SessionClockTest, OnlyTheNewestExpiredSessionsAreRemembered) {
  for (std::uint32_t session = 1; session <= 6; ++session) {
    add(1, session, Tick{0});
    clock_.on_removed(SessionRow{1}, true);
  }
  EXPECT_EQ(clock_.renew(SessionId{2}, Tick{5}).code, RenewCode::NotRegistered);
  EXPECT_EQ(clock_.renew(SessionId{3}, Tick{5}).code, RenewCode::Lost);
  EXPECT_EQ(clock_.renew(SessionId{6}, Tick{5}).code, RenewCode::Lost);
}

TEST_F(SessionClockTest, FollowerExpiresNobodyHoweverLongItIsSilent) {
  add(1, 7, Tick{0}, false);
  EXPECT_TRUE(expired(Tick{100'000}).empty());
  EXPECT_EQ(clock_.next_deadline(), kTickNever);
}

TEST_F(SessionClockTest, S7NewLeaderContinuesTheTtlAndAddsOneElectionTime) {
  add(1, 7, Tick{0}, false);
  clock_.renew(SessionId{7}, Tick{40});
  clock_.on_led(SessionRow{1}, Tick{90}, kElectionTicks);
  const std::uint64_t deadline = 40 + kTtlTicks + kElectionTicks;
  EXPECT_EQ(clock_.remaining_ticks(SessionRow{1}, Tick{90}), deadline - 90);
  EXPECT_TRUE(expired(Tick{deadline - 1}).empty());
  EXPECT_EQ(expired(Tick{deadline}).size(), 1u);
}

TEST_F(SessionClockTest, S7LifetimeGrowsByOneElectionTimePerLeaderChangeOnly) {
  add(1, 7, Tick{0}, false);
  for (std::uint64_t change = 0; change < 5; ++change) {
    clock_.on_led(SessionRow{1}, Tick{10 * change}, kElectionTicks);
    clock_.on_not_led(SessionRow{1});
  }
  clock_.on_led(SessionRow{1}, Tick{90}, kElectionTicks);
  EXPECT_EQ(expired(Tick{kTtlTicks + kElectionTicks}).size(), 1u);
}

// Twice around the ring of four, whose empty position is used again.
TEST_F(SessionClockTest, AnEndIsForgottenWhenItsIdBeginsAnewAndTheOthersAreNot) {
  const auto end = [this](std::uint64_t session) {
    add(1, session, Tick{0});
    clock_.on_removed(SessionRow{1}, true);
  };
  end(1);
  end(2);
  clock_.over().forget(SessionId{1});
  clock_.over().forget(SessionId{1});
  EXPECT_FALSE(clock_.over().remembers(SessionId{1}));
  EXPECT_TRUE(clock_.over().remembers(SessionId{2}));
  for (std::uint64_t session = 3; session < 11; ++session) {
    end(session);
    EXPECT_TRUE(clock_.over().remembers(SessionId{session}));
  }
  EXPECT_FALSE(clock_.over().remembers(SessionId{6}));
  EXPECT_TRUE(clock_.over().remembers(SessionId{7}));
  end(1);
  EXPECT_TRUE(clock_.over().remembers(SessionId{1}));
}

TEST_F(SessionClockTest, LostLeadershipTakesProposalsBack) {
  add(1, 7, Tick{0});
  ASSERT_EQ(expired(Tick{200}).size(), 1u);
  clock_.on_not_led(SessionRow{1});
  EXPECT_EQ(clock_.renew(SessionId{7}, Tick{201}).code, RenewCode::Renewed);
  clock_.on_led(SessionRow{1}, Tick{202}, kElectionTicks);
  EXPECT_TRUE(expired(Tick{203}).empty());
}

TEST_F(SessionClockTest, SmallOutputStarvesNobody) {
  for (std::uint32_t row = 1; row <= 100; ++row) {
    add(row, row, Tick{0});
  }
  std::vector<bool> seen(101, false);
  for (int pass = 0; pass < 15; ++pass) {
    for (const ExpiryProposal& proposal : expired(Tick{200}, 7)) {
      EXPECT_FALSE(seen[proposal.row.value]);
      seen[proposal.row.value] = true;
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 100);
  EXPECT_TRUE(expired(Tick{200}).empty());
}

TEST_F(SessionClockTest, NextDeadlineNeverComesAfterTheFirstDueTick) {
  add(1, 7, Tick{10});
  add(2, 8, Tick{20});
  EXPECT_EQ(clock_.next_deadline(), Tick{10 + kTtlTicks});
  clock_.renew(SessionId{7}, Tick{50});
  EXPECT_LE(clock_.next_deadline(), Tick{20 + kTtlTicks});
  EXPECT_EQ(expired(Tick{20 + kTtlTicks}).size(), 1u);
  EXPECT_EQ(clock_.next_deadline(), Tick{50 + kTtlTicks});
}

TEST_F(SessionClockTest, SilenceCountsFromTheLastKeepAliveHeardHereWhoeverLeads) {
  add(1, 7, Tick{10}, false);
  EXPECT_EQ(clock_.silent_ticks(SessionRow{1}, Tick{35}), 25u);
  clock_.renew(SessionId{7}, Tick{30});
  EXPECT_EQ(clock_.silent_ticks(SessionRow{1}, Tick{35}), 5u);
  EXPECT_EQ(clock_.silent_ticks(SessionRow{1}, Tick{20}), 0u);
}

TEST_F(SessionClockTest, RegistrationsOfASessionAreAllOfItsRowsAndNoOthers) {
  for (std::uint32_t row = 1; row <= 6; ++row) {
    add(row, row <= 4 ? 7 : 8, Tick{0});
  }
  clock_.on_removed(SessionRow{1}, false);
  clock_.on_removed(SessionRow{3}, false);
  std::vector<std::uint32_t> rows;
  for (const Registration& each : clock_.registrations_of(SessionId{7})) {
    EXPECT_EQ(each.session, SessionId{7});
    EXPECT_EQ(each.serial, each.row.value);
    rows.push_back(each.row.value);
  }
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, (std::vector<std::uint32_t>{2, 4}));
  EXPECT_TRUE(clock_.registrations_of(SessionId{9}).empty());
}

TEST_F(SessionClockTest, WhatIsCollectedIsStillRenewedAndDueAgainOnlyWhenItIsSaidSo) {
  add(1, 7, Tick{100});
  add(2, 8, Tick{100});
  std::array<ExpiryProposal, 4> due;
  const Tick end{100 + kTtlTicks};
  ASSERT_EQ(clock_.collect_due(end, due), 2u);
  EXPECT_EQ(clock_.collect_due(end + 100, due), 0u);
  EXPECT_TRUE(clock_.collected(due[0]));
  EXPECT_EQ(clock_.renew(due[0].session, end).code, RenewCode::Renewed);
  EXPECT_EQ(clock_.silent_ticks(due[0].row, end), 0u);
  clock_.put_off(due[0], end + 5);
  EXPECT_FALSE(clock_.collected(due[0]));
  EXPECT_TRUE(clock_.propose(due[1]));
  clock_.put_off(due[1], end + 5);  // Proposed, so no.
  EXPECT_EQ(clock_.collect_due(end + 4, due), 0u);
  ASSERT_EQ(clock_.collect_due(end + 5, due), 1u);
}

TEST_F(SessionClockTest, WhatWasCollectedUnderAnEarlierLeadershipIsCollectedNoMore) {
  add(1, 7, Tick{100});
  std::array<ExpiryProposal, 4> due;
  ASSERT_EQ(clock_.collect_due(Tick{100 + kTtlTicks}, due), 1u);
  clock_.on_not_led(due[0].row);
  EXPECT_FALSE(clock_.collected(due[0]));
  EXPECT_FALSE(clock_.propose(due[0]));
  clock_.on_led(due[0].row, Tick{100 + kTtlTicks}, kElectionTicks);
  EXPECT_FALSE(clock_.collected(due[0])) << "it has an election time more";
}

}  // namespace
}  // namespace gcoord::sessions
