// Grants, queues, releases and their fencing tokens (L1 to L5 and L11 to L13 of
// docs/reference/services.md).
#include "locks/state/apply.h"

#include "tests/locks/lock_harness.h"

#include <gtest/gtest.h>

#include <cstring>

namespace gcoord::locks {
namespace {

TEST(LockApply, L1FreeLockIsGrantedWithATokenAndOthersFindItBusy) {
  LockHarness shard;
  const LockReply granted = shard.acquire(1, 1, "job");
  EXPECT_EQ(granted.code, LockCode::Granted);
  EXPECT_EQ(granted.token, FencingToken{1});
  EXPECT_EQ(shard.acquire(2, 1, "job").code, LockCode::Busy);
  EXPECT_TRUE(shard.events.empty());
}

TEST(LockApply, L2TryLockReportsHolderAndTokenAndLeavesNoQueueEntry) {
  LockHarness shard;
  const LockReply granted = shard.acquire(1, 1, "job");
  const LockReply busy = shard.acquire(2, 1, "job");
  EXPECT_EQ(busy.code, LockCode::Busy);
  EXPECT_EQ(busy.holder, SessionId{1});
  EXPECT_EQ(busy.token, granted.token);
  EXPECT_EQ(shard.locks.get(shard.shard, hash_name("job"))->waiter_count, 0u);
  shard.release(1, 2, "job", granted.token);
  EXPECT_TRUE(shard.events.empty());
  EXPECT_EQ(shard.locks.usage().locks, 0u);
}

TEST(LockApply, L3TimedOutWaiterLeavesTheQueueAndTheNextOneAdvances) {
  LockHarness shard;
  const LockReply granted = shard.acquire(1, 1, "job");
  EXPECT_EQ(shard.wait(2, 7, "job").code, LockCode::Waiting);
  EXPECT_EQ(shard.wait(3, 8, "job").code, LockCode::Waiting);
  EXPECT_EQ(shard.cancel(2, 7).code, LockCode::WaitTimedOut);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].code, LockCode::WaitTimedOut);
  EXPECT_EQ(shard.events[0].session, SessionId{2});
  EXPECT_EQ(shard.events[0].sequence, RequestSequence{7});
  shard.release(1, 2, "job", granted.token);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{3});
  EXPECT_EQ(shard.wait(2, 7, "job").code, LockCode::WaitTimedOut);
}

TEST(LockApply, CancelThatLosesTheRaceAgainstTheGrantAnswersTheGrant) {
  LockHarness shard;
  const LockReply first = shard.acquire(1, 1, "job");
  shard.wait(2, 1, "job");
  shard.release(1, 2, "job", first.token);
  const LockReply late = shard.cancel(2, 1);
  EXPECT_EQ(late.code, LockCode::Granted);
  EXPECT_EQ(late.token, FencingToken{2});
  EXPECT_TRUE(shard.events.empty());
  EXPECT_EQ(shard.check("job", late.token), TokenVerdict::Valid);
}

TEST(LockApply, CancelOfAnUnknownWaitSaysSo) {
  LockHarness shard;
  EXPECT_EQ(shard.cancel(1, 1).code, LockCode::SessionUnknown);
  shard.acquire(1, 1, "job");
  EXPECT_EQ(shard.cancel(1, 2).code, LockCode::NotWaiting);
}

TEST(LockApply, L4GrantOrderIsTheLogOrderOfTheWaits) {
  LockHarness shard;
  FencingToken token = shard.acquire(1, 1, "job").token;
  for (std::uint64_t session = 2; session <= 9; ++session) {
    shard.wait(session, 1, "job");
  }
  for (std::uint64_t holder = 1; holder <= 8; ++holder) {
    EXPECT_EQ(shard.release(holder, 2, "job", token).code, LockCode::Released);
    ASSERT_EQ(shard.events.size(), 1u);
    EXPECT_EQ(shard.events[0].code, LockCode::Granted);
    EXPECT_EQ(shard.events[0].session, SessionId{holder + 1});
    EXPECT_GT(shard.events[0].token, token);
    token = shard.events[0].token;
  }
}

// How many rows of a column differ; the cost of a command in rows rather than in time.
template <typename Record>
std::size_t changed_rows(const std::vector<Record>& before, const Record* after) {
  std::size_t changed = 0;
  for (std::size_t row = 0; row < before.size(); ++row) {
    changed += std::memcmp(&before[row], &after[row], sizeof(Record)) != 0 ? 1 : 0;
  }
  return changed;
}

TEST(LockApply, L4ReleaseWithTenThousandWaitersWakesOneAndTouchesAHandfulOfRows) {
  LockHarness shard{{.shard_count = 1, .rows_initial = 16384}};
  const FencingToken token = shard.acquire(1, 1, "herd").token;
  for (std::uint64_t session = 2; session <= 10'001; ++session) {
    ASSERT_EQ(shard.wait(session, 1, "herd").code, LockCode::Waiting);
  }
  const LockTables& tables = shard.locks.tables();
  const std::vector<RequestRecord> requests(tables.requests.records,
                                            tables.requests.records + tables.requests.capacity + 1);
  const std::vector<SessionRecord> sessions(tables.sessions.records,
                                            tables.sessions.records + tables.sessions.capacity + 1);
  EXPECT_EQ(shard.release(1, 2, "herd", token).code, LockCode::Released);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{2});
  // The release's own record and the one before it, the woken waiter and its follower.
  EXPECT_LE(changed_rows(requests, tables.requests.records), 4u);
  EXPECT_LE(changed_rows(sessions, tables.sessions.records), 2u);
  EXPECT_EQ(shard.locks.usage().waiters, 9'999u);
}

TEST(LockApply, L5WaitersAreListedInQueueOrderWithTheirLogIndex) {
  LockHarness shard;
  shard.acquire(1, 1, "job");
  for (std::uint64_t session = 2; session <= 5; ++session) {
    shard.wait(session, 10 + session, "job");
  }
  const auto waiters = shard.locks.waiters(shard.shard, hash_name("job"), 1, 2);
  ASSERT_EQ(waiters.size(), 2u);
  EXPECT_EQ(waiters[0].queue_place, 1u);
  EXPECT_EQ(waiters[0].session, SessionId{3});
  EXPECT_EQ(waiters[0].sequence, RequestSequence{13});
  EXPECT_EQ(waiters[0].enqueued_at, LogIndex{3});
  EXPECT_EQ(waiters[1].session, SessionId{4});
}

TEST(LockApply, SecondAcquireOfTheHolderAnswersTheSameToken) {
  LockHarness shard;
  const LockReply first = shard.acquire(1, 1, "job");
  const LockReply second = shard.acquire(1, 2, "job");
  EXPECT_EQ(second.code, LockCode::AlreadyHeld);
  EXPECT_EQ(second.token, first.token);
  EXPECT_EQ(shard.wait(1, 3, "job").code, LockCode::AlreadyHeld);
}

TEST(LockApply, ReleaseByAnotherSessionOrUnderAnotherTokenChangesNothing) {
  LockHarness shard;
  const FencingToken old_token = shard.acquire(1, 1, "job").token;
  shard.release(1, 2, "job", old_token);
  const FencingToken token = shard.acquire(1, 3, "job").token;
  shard.acquire(2, 1, "other");
  const LockReply stranger = shard.release(2, 2, "job", token);
  EXPECT_EQ(stranger.code, LockCode::NotHolder);
  EXPECT_EQ(stranger.holder, SessionId{1});
  const LockReply stale = shard.release(1, 4, "job", old_token);
  EXPECT_EQ(stale.code, LockCode::StaleToken);
  EXPECT_EQ(stale.token, token);
  EXPECT_EQ(shard.release(1, 5, "nothing", token).code, LockCode::NotHeld);
  EXPECT_EQ(shard.check("job", token), TokenVerdict::Valid);
}

TEST(LockApply, L12TokensOfOneNameRiseAlsoAfterTheLockWasForgotten) {
  LockHarness shard;
  FencingToken last;
  for (std::uint64_t round = 1; round <= 20; ++round) {
    const FencingToken token = shard.acquire(round, 1, "job").token;
    EXPECT_GT(token, last);
    last = token;
    shard.release(round, 2, "job", token);
    EXPECT_FALSE(shard.locks.get(shard.shard, hash_name("job")).has_value());
  }
}

TEST(LockApply, L13TokenCheckTellsValidStaleAndFree) {
  LockHarness shard;
  const FencingToken first = shard.acquire(1, 1, "job").token;
  EXPECT_EQ(shard.check("job", first), TokenVerdict::Valid);
  shard.wait(2, 1, "job");
  shard.release(1, 2, "job", first);
  const FencingToken second = shard.events.at(0).token;
  const std::vector<TokenCheck> checks = {{shard.shard, hash_name("job"), first},
                                          {shard.shard, hash_name("job"), second},
                                          {shard.shard, hash_name("free"), second},
                                          {ShardId{1}, hash_name("job"), second}};
  std::vector<TokenVerdict> verdicts(checks.size());
  for (std::size_t k = 0; k < checks.size(); ++k) {
    verdicts[k] = shard.locks.check(checks[k]);
  }
  EXPECT_EQ(verdicts,
            (std::vector<TokenVerdict>{
                TokenVerdict::Stale, TokenVerdict::Valid, TokenVerdict::Free, TokenVerdict::Free}));
}

TEST(LockApply, SameNameInTwoShardsIsTwoLocks) {
  LockHarness shard;
  EXPECT_EQ(shard.acquire(1, 1, "job").code, LockCode::Granted);
  shard.shard = ShardId{1};
  EXPECT_EQ(shard.acquire(2, 1, "job").code, LockCode::Granted);
}

TEST(LockApply, SessionThatWaitsTwiceForOneLockGetsItTwiceInTurn) {
  LockHarness shard;
  const FencingToken first = shard.acquire(1, 1, "job").token;
  shard.wait(2, 1, "job");
  shard.wait(2, 2, "job");
  shard.release(1, 2, "job", first);
  const FencingToken second = shard.events.at(0).token;
  EXPECT_EQ(shard.release(2, 3, "job", second).code, LockCode::Released);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{2});
  EXPECT_EQ(shard.events[0].sequence, RequestSequence{2});
  EXPECT_GT(shard.events[0].token, second);
}

TEST(LockApply, UnknownAndMalformedEntriesChangeNothingAndAreCounted) {
  LockHarness shard;
  EXPECT_EQ(shard.apply_bytes({std::byte{200}, std::byte{1}}).code, LockCode::UnknownCommand);
  EXPECT_EQ(shard.apply_bytes({std::byte{1}}).code, LockCode::UnknownCommand);
  EXPECT_EQ(shard.locks.unknown_command_count(), 2u);
  EXPECT_EQ(shard.locks.usage().sessions, 0u);
}

TEST(LockApply, NoopLeavesNoTraceInTheStateHash) {
  LockHarness shard;
  shard.acquire(1, 1, "job");
  const std::uint64_t before = shard.locks.state_hash(shard.shard);
  EXPECT_EQ(shard.apply_bytes({}).code, LockCode::Noop);
  EXPECT_EQ(shard.locks.state_hash(shard.shard), before);
  shard.acquire(2, 1, "job");
  EXPECT_NE(shard.locks.state_hash(shard.shard), before);
}

TEST(LockApply, IdleShardCostsFortyBytes) {
  EXPECT_EQ(sizeof(LockShardRow), 40u);
}

}  // namespace
}  // namespace gcoord::locks
