// Locks that several sessions hold together: readers beside writers, permits of semaphores.
#include "locks/state/share.h"

#include "tests/locks/lock_harness.h"

#include <gtest/gtest.h>

namespace gcoord::locks {
namespace {

constexpr HoldOptions kRead{.flags = kHoldShared, .permits = 1};
constexpr HoldOptions kDown{.flags = kHoldShared | kHoldDowngrade, .permits = 1};

constexpr HoldOptions permits(std::uint8_t count, std::uint16_t limit) {
  return {.flags = kHoldShared, .permits = count, .limit = limit};
}

std::size_t holder_count(const LockHarness& shard, const std::string& name) {
  const auto lock = shard.locks.get(shard.shard, hash_name(name));
  return lock.has_value() ? lock->holders.size() : 0;
}

TEST(LockShare, L7ReadersOverlapUnderTokensOfTheirOwn) {
  LockHarness shard;
  const LockReply one = shard.hold(1, 1, "doc", kRead);
  const LockReply two = shard.hold(2, 1, "doc", kRead);
  EXPECT_EQ(one.code, LockCode::Granted);
  EXPECT_EQ(two.code, LockCode::Granted);
  EXPECT_GT(two.token, one.token);
  EXPECT_EQ(shard.check("doc", one.token), TokenVerdict::Valid);
  EXPECT_EQ(shard.check("doc", two.token), TokenVerdict::Valid);
  EXPECT_EQ(holder_count(shard, "doc"), 2u);
  const LockReply again = shard.hold(1, 2, "doc", kRead);
  EXPECT_EQ(again.code, LockCode::AlreadyHeld);
  EXPECT_EQ(again.token, one.token);
  EXPECT_EQ(shard.release(1, 3, "doc", two.token).code, LockCode::StaleToken);
  EXPECT_EQ(shard.release(1, 4, "doc", one.token).code, LockCode::Released);
  EXPECT_EQ(shard.check("doc", one.token), TokenVerdict::Stale);
  EXPECT_EQ(shard.check("doc", two.token), TokenVerdict::Valid);
  EXPECT_EQ(shard.release(1, 5, "doc", one.token).code, LockCode::NotHolder);
  EXPECT_EQ(shard.release(2, 2, "doc", two.token).code, LockCode::Released);
  EXPECT_EQ(shard.locks.usage().locks, 0u);
  EXPECT_EQ(shard.locks.usage().name_blocks, 0u);
}

TEST(LockShare, L7AWriterExcludesReadersAndIsExcludedByThem) {
  LockHarness shard;
  const LockReply reader = shard.hold(1, 1, "doc", kRead);
  EXPECT_EQ(shard.acquire(2, 1, "doc").code, LockCode::Busy);
  EXPECT_EQ(shard.wait(2, 2, "doc").code, LockCode::Waiting);
  shard.release(1, 2, "doc", reader.token);
  ASSERT_EQ(shard.events.size(), 1u);
  const FencingToken writer = shard.events[0].token;
  EXPECT_GT(writer, reader.token);
  EXPECT_EQ(shard.hold(1, 3, "doc", kRead).code, LockCode::Waiting);
  EXPECT_EQ(shard.hold(3, 1, "doc", kRead).code, LockCode::Waiting);
  shard.release(2, 3, "doc", writer);
  ASSERT_EQ(shard.events.size(), 2u);
  EXPECT_EQ(shard.events[0].session, SessionId{1});
  EXPECT_EQ(shard.events[1].session, SessionId{3});
  EXPECT_EQ(holder_count(shard, "doc"), 2u);
}

TEST(LockShare, L7AQueuedWriterIsNotStarvedByLaterReaders) {
  LockHarness shard;
  const LockReply first = shard.hold(1, 1, "doc", kRead);
  EXPECT_EQ(shard.wait(2, 1, "doc").code, LockCode::Waiting);
  for (std::uint64_t session = 3; session < 20; ++session) {
    EXPECT_EQ(shard.hold(session, 1, "doc", kRead).code, LockCode::Waiting);
  }
  shard.release(1, 2, "doc", first.token);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{2});
  shard.release(2, 2, "doc", shard.events[0].token);
  EXPECT_EQ(shard.events.size(), 17u);
}

TEST(LockShare, L7ReadersBehindAWriterThatGivesUpComeIn) {
  LockHarness shard;
  shard.hold(1, 1, "doc", kRead);
  shard.wait(2, 1, "doc");
  shard.hold(3, 1, "doc", kRead);
  shard.wait(4, 1, "doc");
  shard.hold(5, 1, "doc", kRead);
  shard.cancel(2, 1);
  ASSERT_EQ(shard.events.size(), 2u);  // The end of the wait, and the reader behind it.
  EXPECT_EQ(shard.events[1].session, SessionId{3});
  EXPECT_EQ(shard.events[1].code, LockCode::Granted);
  shard.expire(4);
  ASSERT_EQ(shard.events.size(), 2u);
  EXPECT_EQ(shard.events[1].session, SessionId{5});
}

TEST(LockShare, L7DowngradeKeepsTheTokenAndLetsReadersIn) {
  LockHarness shard;
  const LockReply writer = shard.hold(1, 1, "doc", {}, "note");
  EXPECT_EQ(shard.hold(2, 1, "doc", kRead).code, LockCode::Waiting);
  EXPECT_EQ(shard.wait(3, 1, "doc").code, LockCode::Waiting);
  EXPECT_EQ(shard.hold(4, 1, "doc", kDown).code, LockCode::NotHolder);
  const LockReply down = shard.hold(1, 2, "doc", kDown);
  EXPECT_EQ(down.code, LockCode::Downgraded);
  EXPECT_EQ(down.token, writer.token);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{2});
  EXPECT_GT(shard.events[0].token, writer.token);
  EXPECT_EQ(shard.check("doc", writer.token), TokenVerdict::Valid);
  const FencingToken reader = shard.events[0].token;
  EXPECT_EQ(shard.release(1, 3, "doc", writer.token).code, LockCode::Released);
  EXPECT_TRUE(shard.events.empty());
  shard.release(2, 2, "doc", reader);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{3});
  EXPECT_EQ(shard.hold(9, 1, "free", kDown).code, LockCode::NotHeld);
}

TEST(LockShare, L7WhoHasAShareIsToldThatItCannotHaveTheLockAlone) {
  LockHarness shard;
  const LockReply reader = shard.hold(1, 1, "doc", kRead);
  const LockReply upgrade = shard.wait(1, 2, "doc");
  EXPECT_EQ(upgrade.code, LockCode::HoldConflict);
  EXPECT_EQ(upgrade.token, reader.token);
  // And who holds it alone holds more than a reader.
  const LockReply alone = shard.acquire(1, 3, "other");
  const LockReply read = shard.hold(1, 4, "other", kRead);
  EXPECT_EQ(read.code, LockCode::AlreadyHeld);
  EXPECT_EQ(read.token, alone.token);
}

TEST(LockShare, L8NeverMorePermitsAreOutThanTheLimit) {
  LockHarness shard;
  EXPECT_EQ(shard.hold(1, 1, "gpu", permits(2, 4)).code, LockCode::Granted);
  const LockReply second = shard.hold(2, 1, "gpu", permits(1, 4));
  EXPECT_EQ(shard.hold(3, 1, "gpu", permits(2, 4)).code, LockCode::Waiting);
  // First come, first served: one permit is left, and who wants it stands behind.
  EXPECT_EQ(shard.hold(4, 1, "gpu", permits(1, 4)).code, LockCode::Waiting);
  shard.release(2, 2, "gpu", second.token);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{3});
  EXPECT_EQ(holder_count(shard, "gpu"), 2u);
}

TEST(LockShare, L8PermitsOfADeadSessionComeBack) {
  LockHarness shard;
  shard.hold(1, 1, "gpu", permits(3, 3));
  for (std::uint64_t session = 2; session <= 5; ++session) {
    EXPECT_EQ(shard.hold(session, 1, "gpu", permits(1, 3)).code, LockCode::Waiting);
  }
  EXPECT_FALSE(shard.expire(1).more);
  EXPECT_EQ(shard.events.size(), 3u);
  EXPECT_EQ(holder_count(shard, "gpu"), 3u);
  shard.expire(3);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{5});
}

TEST(LockShare, L8AnotherLimitHasItsOwnAnswerAndChangesNothing) {
  LockHarness shard;
  const LockReply first = shard.hold(1, 1, "gpu", permits(1, 3));
  EXPECT_EQ(shard.hold(2, 1, "gpu", permits(1, 4)).code, LockCode::LimitDiffers);
  EXPECT_EQ(shard.hold(2, 2, "gpu", kRead).code, LockCode::LimitDiffers);
  EXPECT_EQ(shard.hold(1, 2, "gpu", permits(1, 4)).code, LockCode::HoldConflict);
  shard.release(1, 3, "gpu", first.token);
  EXPECT_EQ(shard.hold(2, 3, "gpu", permits(1, 4)).code, LockCode::Granted);
}

TEST(LockShare, ASessionThatWaitsTwiceComesInOnceAndAgainAfterThat) {
  LockHarness shard;
  const LockReply writer = shard.acquire(1, 1, "doc");
  shard.hold(2, 1, "doc", kRead);
  shard.hold(2, 2, "doc", kRead);
  shard.hold(3, 1, "doc", kRead);
  shard.release(1, 2, "doc", writer.token);
  ASSERT_EQ(shard.events.size(), 1u);
  shard.release(2, 3, "doc", shard.events[0].token);
  ASSERT_EQ(shard.events.size(), 2u);
  EXPECT_EQ(shard.events[0].sequence, RequestSequence{2});
  EXPECT_EQ(shard.events[1].session, SessionId{3});
}

TEST(LockShare, AtMostSoManyHoldALockTogetherAndTheNextOneWaits) {
  LockHarness shard;
  FencingToken first;
  for (std::uint64_t session = 1; session <= kHoldersMax; ++session) {
    const LockReply reply = shard.hold(session, 1, "doc", kRead);
    ASSERT_EQ(reply.code, LockCode::Granted);
    first = session == 1 ? reply.token : first;
  }
  EXPECT_EQ(shard.hold(100, 1, "doc", kRead).code, LockCode::Waiting);
  shard.release(1, 2, "doc", first);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{100});
}

TEST(LockShare, ASnapshotKeepsHoldersTheirOrderAndWhoWaits) {
  LockHarness source;
  const LockReply writer = source.acquire(1, 1, "doc");
  source.acquire(1, 2, "later");
  source.hold(1, 3, "doc", kDown);
  const LockReply second = source.hold(2, 1, "doc", kRead);
  source.wait(3, 1, "doc");
  source.hold(4, 1, "doc", kRead);
  source.hold(2, 2, "gpu", permits(2, 3));
  source.hold(1, 4, "gpu", permits(1, 3));
  const auto bytes = source.locks.serialize(source.shard);
  LockHarness restored;
  ASSERT_TRUE(restored.locks.deserialize(restored.shard, bytes, Tick{1}).ok());
  EXPECT_EQ(restored.locks.serialize(restored.shard), bytes);
  EXPECT_EQ(restored.locks.usage().locks, source.locks.usage().locks);
  EXPECT_EQ(restored.hold(4, 2, "gpu", permits(1, 3)).code, LockCode::Waiting);
  EXPECT_EQ(restored.release(1, 5, "doc", writer.token).code, LockCode::Released);
  EXPECT_EQ(restored.release(2, 3, "doc", second.token).code, LockCode::Released);
  ASSERT_EQ(restored.events.size(), 1u);
  EXPECT_EQ(restored.events[0].session, SessionId{3});
  restored.locks.drop(restored.shard);
  EXPECT_EQ(restored.locks.usage().locks, 0u);
  EXPECT_EQ(restored.locks.usage().name_blocks, 0u);
}

TEST(LockShare, TheEndOfASessionStaysWithinTheEventBoundWhateverItLetsIn) {
  LockHarness shard;
  // Session 1 stands in front of readers of many locks, and has a share of others.
  for (std::uint64_t i = 1; i <= kSessionRequestsMax; ++i) {
    const std::string name = "doc" + std::to_string(i);
    shard.hold(2, i, name, kRead);
    EXPECT_EQ(shard.wait(1, i, name).code, LockCode::Waiting);
    for (std::uint64_t reader = 10; reader < 10 + kHoldersMax - 1; ++reader) {
      ASSERT_EQ(shard.hold(reader, i, name, kRead).code, LockCode::Waiting);
    }
  }
  EXPECT_FALSE(shard.expire(1).more);
  EXPECT_EQ(shard.events.size(), kSessionRequestsMax * kHoldersMax);
  EXPECT_EQ(shard.locks.usage().waiters, 0u);
}

// What those waits let in and two locks that go to kHoldersMax readers each fill the array: a plain
// lock, which goes to one, has to wait for the next step too.
TEST(LockShare, APlainLockIsPassedOnInTheNextStepWhenTheEventsAreFull) {
  LockHarness shard;
  // The newest is passed on first.
  shard.acquire(1, 1, "plain");
  shard.acquire(1, 2, "first");
  shard.acquire(1, 3, "second");
  shard.wait(500, 1, "plain");
  for (std::uint64_t reader = 200; reader < 200 + kHoldersMax; ++reader) {
    ASSERT_EQ(shard.hold(reader, 1, "first", kRead).code, LockCode::Waiting);
    ASSERT_EQ(shard.hold(reader, 2, "second", kRead).code, LockCode::Waiting);
  }
  for (std::uint64_t i = 1; i <= kSessionRequestsMax; ++i) {
    const std::string name = "doc" + std::to_string(i);
    shard.hold(2, i, name, kRead);
    ASSERT_EQ(shard.wait(1, 3 + i, name, 4).code, LockCode::Waiting);
    for (std::uint64_t reader = 10; reader < 10 + kHoldersMax - 1; ++reader) {
      ASSERT_EQ(shard.hold(reader, i, name, kRead).code, LockCode::Waiting);
    }
  }
  EXPECT_TRUE(shard.close(1).more);
  EXPECT_EQ(shard.events.size(), kEndEventsMax);
  EXPECT_EQ(shard.locks.get(shard.shard, hash_name("plain"))->holder, SessionId{1});
  EXPECT_FALSE(shard.close(1).more);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{500});
  EXPECT_EQ(shard.locks.usage().waiters, 0u);
}

}  // namespace
}  // namespace gcoord::locks
