// Sessions: registration, expiry through the log, and the end of a session in bounded steps.
#include "locks/state/session_locks.h"

#include "tests/locks/lock_harness.h"

#include <gtest/gtest.h>

namespace gcoord::locks {
namespace {

LockCommand unregistered_acquire(std::uint64_t session) {
  return make_acquire(
      {.session = SessionId{session}, .sequence = RequestSequence{1}, .name = "job"});
}

TEST(LockSessions, AcquireWithoutTtlDoesNotRegister) {
  LockHarness shard;
  EXPECT_EQ(shard.apply(unregistered_acquire(1)).code, LockCode::SessionUnknown);
  EXPECT_EQ(shard.apply(make_register_session(SessionId{1}, 500)).code,
            LockCode::SessionRegistered);
  EXPECT_EQ(shard.apply(unregistered_acquire(1)).code, LockCode::Granted);
}

TEST(LockSessions, RegisteringTwiceKeepsTheFirstRegistration) {
  LockHarness shard;
  shard.apply(make_register_session(SessionId{1}, 500));
  const std::uint32_t serial = shard.serial(1);
  const LockReply again = shard.apply(make_register_session(SessionId{1}, 900));
  EXPECT_EQ(again.code, LockCode::SessionRegistered);
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(shard.serial(1), serial);
  EXPECT_EQ(shard.locks.usage().sessions, 1u);
}

TEST(LockSessions, L10ExpiryPassesTheLocksOnAndForgetsTheSession) {
  LockHarness shard;
  shard.acquire(1, 1, "job");
  shard.wait(2, 1, "job");
  EXPECT_EQ(shard.expire(1).code, LockCode::SessionExpired);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].code, LockCode::Granted);
  EXPECT_EQ(shard.events[0].session, SessionId{2});
  EXPECT_FALSE(shard.locks.registered(shard.shard, SessionId{1}));
  EXPECT_EQ(shard.expire(1).code, LockCode::SessionUnknown);
}

TEST(LockSessions, L11WaiterWhoseSessionExpiredIsToldSoAndNeverGranted) {
  LockHarness shard;
  const FencingToken token = shard.acquire(1, 1, "job").token;
  shard.wait(2, 4, "job");
  shard.wait(3, 1, "job");
  shard.expire(2);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].code, LockCode::SessionExpired);
  EXPECT_EQ(shard.events[0].session, SessionId{2});
  EXPECT_EQ(shard.events[0].sequence, RequestSequence{4});
  shard.release(1, 2, "job", token);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{3});
}

TEST(LockSessions, SessionThatHoldsAndWaitsForItsOwnNextTurnIsNotGrantedInDeath) {
  LockHarness shard;
  const FencingToken token = shard.acquire(1, 1, "job").token;
  shard.wait(2, 1, "job");
  shard.wait(2, 2, "job");
  shard.release(1, 2, "job", token);
  shard.expire(2);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].code, LockCode::SessionExpired);
  EXPECT_FALSE(shard.locks.get(shard.shard, hash_name("job")).has_value());
}

TEST(LockSessions, ExpiryOfAnOlderRegistrationIsStale) {
  LockHarness shard;
  shard.acquire(1, 1, "job");
  const std::uint32_t first = shard.serial(1);
  shard.close(1);
  shard.acquire(1, 2, "job");
  EXPECT_EQ(shard.apply(make_expire_session(SessionId{1}, first)).code, LockCode::SerialStale);
  EXPECT_EQ(shard.locks.usage().locks, 1u);
}

TEST(LockSessions, CloseReleasesAndClosingAgainIsASuccess) {
  LockHarness shard;
  const FencingToken token = shard.acquire(1, 1, "job").token;
  EXPECT_EQ(shard.close(1).code, LockCode::SessionClosed);
  EXPECT_EQ(shard.check("job", token), TokenVerdict::Free);
  EXPECT_EQ(shard.close(1).code, LockCode::SessionClosed);
}

TEST(LockSessions, S4HugeSessionEndsInBoundedStepsAndAcceptsNothingMeanwhile) {
  LockHarness shard;
  constexpr std::uint64_t kLocks = 3 * kReleasesPerCommandMax + 1;
  for (std::uint64_t i = 1; i <= kLocks; ++i) {
    shard.acquire(1, i, "job" + std::to_string(i), i);
  }
  EXPECT_EQ(shard.wait(2, 1, "job1").code, LockCode::Waiting);
  LockReply reply = shard.expire(1);
  EXPECT_TRUE(reply.more);
  EXPECT_EQ(shard.locks.usage().locks, kLocks - kReleasesPerCommandMax);
  EXPECT_EQ(shard.acquire(1, 1000, "fresh", 1000).code, LockCode::SessionExpired);
  EXPECT_EQ(shard.cancel(1, 1000).code, LockCode::SessionExpired);
  EXPECT_EQ(shard.apply(make_register_session(SessionId{1}, 10)).code, LockCode::SessionExpired);
  EXPECT_EQ(shard.check("job1", FencingToken{1}), TokenVerdict::Stale);
  EXPECT_EQ(shard.wait(3, 1, "job2").code, LockCode::Waiting);
  int steps = 1;
  for (; reply.more; ++steps) {
    reply = shard.expire(1);
    EXPECT_EQ(reply.code, LockCode::SessionExpired);
    EXPECT_LE(shard.events.size(), kReleasesPerCommandMax);
  }
  EXPECT_EQ(steps, 4);
  EXPECT_EQ(shard.locks.usage().locks, 2u);
  EXPECT_EQ(shard.locks.get(shard.shard, hash_name("job1"))->holder, SessionId{2});
  EXPECT_EQ(shard.locks.get(shard.shard, hash_name("job2"))->holder, SessionId{3});
}

TEST(LockSessions, EndingAFullWindowOfWaitsAndHoldsStaysWithinTheEventBound) {
  LockHarness shard;
  for (std::uint64_t i = 1; i <= kSessionRequestsMax; ++i) {
    shard.acquire(1, i, "mine" + std::to_string(i), i);
    shard.wait(2, i, "mine" + std::to_string(i));
    shard.acquire(3, i, "theirs" + std::to_string(i), i);
  }
  for (std::uint64_t i = 1; i <= kSessionRequestsMax; ++i) {
    const std::uint64_t sequence = kSessionRequestsMax + i;
    ASSERT_EQ(shard.wait(1, sequence, "theirs" + std::to_string(i), sequence - i + 1).code,
              LockCode::Waiting);
  }
  const LockReply reply = shard.expire(1);
  EXPECT_FALSE(reply.more);
  EXPECT_EQ(shard.events.size(), kPlainEventsPerCommandMax);
  EXPECT_EQ(shard.locks.usage().waiters, 0u);
}

TEST(LockSessions, EndedSessionsLeaveNothingBehind) {
  LockHarness shard;
  for (std::uint64_t session = 1; session <= 50; ++session) {
    shard.acquire(session, 1, "shared");
    shard.wait(session, 2, "shared");
    shard.acquire(session, 3, "own" + std::to_string(session));
  }
  for (std::uint64_t session = 1; session <= 50; ++session) {
    session % 2 == 0 ? shard.close(session) : shard.expire(session);
  }
  const LockUsage usage = shard.locks.usage();
  EXPECT_EQ(usage.locks, 0u);
  EXPECT_EQ(usage.sessions, 0u);
  EXPECT_EQ(usage.requests, 0u);
  EXPECT_EQ(usage.waiters, 0u);
  EXPECT_EQ(usage.name_blocks, 0u);
  EXPECT_EQ(shard.locks.clock().registration_count(), 0u);
}

}  // namespace
}  // namespace gcoord::locks
