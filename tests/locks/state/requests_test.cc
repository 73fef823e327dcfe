// Exactly-once by (session, sequence).
#include "locks/state/requests.h"

#include "tests/locks/lock_harness.h"

#include <gtest/gtest.h>

namespace gcoord::locks {
namespace {

TEST(LockRequests, RetryOfAGrantAnswersTheSameTokenAndGrantsNothing) {
  LockHarness shard;
  const LockReply first = shard.acquire(1, 5, "job");
  const LockReply retry = shard.acquire(1, 5, "job");
  EXPECT_EQ(retry.code, LockCode::Granted);
  EXPECT_EQ(retry.token, first.token);
  EXPECT_TRUE(retry.replayed);
  EXPECT_EQ(shard.locks.shard(shard.shard).token_last, 1u);
}

TEST(LockRequests, RetryOfBusyStaysBusyThoughTheLockIsFreeNow) {
  LockHarness shard;
  const FencingToken token = shard.acquire(1, 1, "job").token;
  shard.acquire(2, 1, "job");
  shard.release(1, 2, "job", token);
  const LockReply retry = shard.acquire(2, 1, "job");
  EXPECT_EQ(retry.code, LockCode::Busy);
  EXPECT_EQ(retry.holder, SessionId{1});
  EXPECT_EQ(retry.token, token);
}

TEST(LockRequests, RetryOfAReleaseDoesNotReleaseTheNextHold) {
  LockHarness shard;
  const FencingToken first = shard.acquire(1, 1, "job").token;
  shard.release(1, 2, "job", first);
  const FencingToken second = shard.acquire(1, 3, "job").token;
  EXPECT_EQ(shard.release(1, 2, "job", first).code, LockCode::Released);
  EXPECT_EQ(shard.check("job", second), TokenVerdict::Valid);
}

// gcoordctl once numbered its release by the wall clock, and the owner's next numbers were refused.
TEST(LockRequests, ReleaseByTokenNeitherNeedsNorChangesTheSessionsWindow) {
  LockHarness shard;
  const FencingToken token = shard.acquire(1, 1, "job").token;
  const LockCommand by_token = make_release(
      {.session = SessionId{1}, .name_hash = hash_name("job"), .token = token, .by_token = true});
  EXPECT_EQ(shard.apply(by_token).code, LockCode::Released);
  EXPECT_EQ(shard.apply(by_token).code, LockCode::NotHeld);
  EXPECT_EQ(shard.locks.usage().requests, 1u) << "the acquire's";
  EXPECT_EQ(shard.acquire(1, 1, "job").token, token) << "still a retry of the first";
  const LockReply second = shard.acquire(1, 2, "job");
  EXPECT_EQ(second.code, LockCode::Granted);
  EXPECT_EQ(shard.apply(by_token).code, LockCode::StaleToken);
}

TEST(LockRequests, RetryOfAWaitStillWaitsOnceAndLaterAnswersTheGrant) {
  LockHarness shard;
  const FencingToken first = shard.acquire(1, 1, "job").token;
  shard.wait(2, 9, "job");
  const LockReply retry = shard.wait(2, 9, "job");
  EXPECT_EQ(retry.code, LockCode::Waiting);
  EXPECT_TRUE(retry.replayed);
  EXPECT_EQ(shard.locks.usage().waiters, 1u);
  shard.release(1, 2, "job", first);
  const LockReply granted = shard.wait(2, 9, "job");
  EXPECT_EQ(granted.code, LockCode::Granted);
  EXPECT_EQ(granted.token, FencingToken{2});
}

TEST(LockRequests, SequenceWithOtherArgumentsIsRefused) {
  LockHarness shard;
  const FencingToken token = shard.acquire(1, 1, "job").token;
  EXPECT_EQ(shard.acquire(1, 1, "other").code, LockCode::SequenceReused);
  EXPECT_EQ(shard.wait(1, 1, "job").code, LockCode::SequenceReused);
  EXPECT_EQ(shard.release(1, 1, "job", token).code, LockCode::SequenceReused);
  EXPECT_EQ(shard.locks.usage().locks, 1u);
}

TEST(LockRequests, AcknowledgedRepliesAreLetGoAndTheirSequencesRefused) {
  LockHarness shard;
  for (std::uint64_t sequence = 1; sequence <= 10; ++sequence) {
    shard.acquire(1, sequence, "job" + std::to_string(sequence));
  }
  EXPECT_EQ(shard.locks.usage().requests, 10u);
  shard.acquire(1, 11, "job11", 11);
  EXPECT_EQ(shard.locks.usage().requests, 1u);
  EXPECT_EQ(shard.acquire(1, 10, "job10").code, LockCode::SequenceStale);
}

TEST(LockRequests, AcknowledgingNeverDropsAWait) {
  LockHarness shard;
  const FencingToken token = shard.acquire(1, 1, "job").token;
  shard.wait(2, 1, "job");
  shard.acquire(2, 2, "other", 2);
  EXPECT_EQ(shard.locks.usage().waiters, 1u);
  shard.release(1, 2, "job", token);
  EXPECT_EQ(shard.events.at(0).session, SessionId{2});
}

TEST(LockRequests, LongWaitDoesNotStopTheSessionsOtherWork) {
  LockHarness shard;
  const FencingToken held = shard.acquire(1, 1, "job").token;
  shard.wait(2, 1, "job");
  for (std::uint64_t sequence = 2; sequence <= 1000; sequence += 2) {
    const LockReply granted = shard.acquire(2, sequence, "other");
    ASSERT_EQ(granted.code, LockCode::Granted);
    ASSERT_EQ(shard.release(2, sequence + 1, "other", granted.token).code, LockCode::Released);
  }
  EXPECT_LE(shard.locks.usage().requests, kSessionRequestsMax + 1u);
  shard.release(1, 2, "job", held);
  EXPECT_EQ(shard.wait(2, 1, "job").code, LockCode::Granted);
}

TEST(LockRequests, ForgottenSequenceIsRefusedRatherThanRunTwice) {
  LockHarness shard;
  const FencingToken token = shard.acquire(1, 1, "job").token;
  shard.release(1, 2, "job", token);
  for (std::uint64_t sequence = 3; sequence < 3 + kSessionRequestsMax; ++sequence) {
    shard.acquire(1, sequence, "other");
  }
  EXPECT_EQ(shard.acquire(1, 1, "job").code, LockCode::SequenceForgotten);
  EXPECT_FALSE(shard.locks.get(shard.shard, hash_name("job")).has_value());
}

TEST(LockRequests, WindowFullOfWaitsRefusesOneMore) {
  LockHarness shard;
  for (std::uint64_t i = 1; i <= kSessionRequestsMax + 1; ++i) {
    shard.acquire(1, i, "job" + std::to_string(i), i);
  }
  for (std::uint64_t i = 1; i <= kSessionRequestsMax; ++i) {
    ASSERT_EQ(shard.wait(2, i, "job" + std::to_string(i)).code, LockCode::Waiting);
  }
  const LockReply refused = shard.wait(2, kSessionRequestsMax + 1, "job65");
  EXPECT_EQ(refused.code, LockCode::WindowFull);
  EXPECT_EQ(shard.cancel(2, 1, false).code, LockCode::WaitCancelled);
  EXPECT_EQ(shard.wait(2, kSessionRequestsMax + 1, "job65").code, LockCode::Waiting);
}

TEST(LockRequests, SequenceTooFarAheadIsRefused) {
  LockHarness shard;
  shard.acquire(1, 1, "job");
  EXPECT_EQ(shard.acquire(1, kSequenceAheadMax + 2, "other").code, LockCode::SequenceAhead);
  EXPECT_EQ(shard.acquire(1, kSequenceAheadMax + 1, "other").code, LockCode::Granted);
}

TEST(LockRequests, SequencesOfDifferentSessionsDoNotMeet) {
  LockHarness shard;
  shard.acquire(1, 1, "a");
  EXPECT_EQ(shard.acquire(2, 1, "b").code, LockCode::Granted);
}

}  // namespace
}  // namespace gcoord::locks
