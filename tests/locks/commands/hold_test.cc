// Holds that are more than plain: several under one token, and notes for others to read.
#include "locks/commands/hold.h"

#include "tests/locks/lock_harness.h"

#include <gtest/gtest.h>

namespace gcoord::locks {
namespace {

constexpr HoldOptions reentrant(std::uint16_t limit) {
  return {.flags = kHoldReentrant, .limit = limit};
}

HeldLock held(const LockHarness& shard, const std::string& name) {
  const auto lock = shard.locks.get(shard.shard, hash_name(name));
  EXPECT_TRUE(lock.has_value());
  return lock.value_or(HeldLock{});
}

TEST(LockHold, L6NestedAcquiresHaveTheSameTokenAndAsManyReleasesFreeTheLock) {
  LockHarness shard;
  const LockReply first = shard.hold(1, 1, "job", reentrant(9));
  EXPECT_EQ(first.code, LockCode::Granted);
  for (std::uint64_t sequence = 2; sequence <= 4; ++sequence) {
    const LockReply again = shard.hold(1, sequence, "job", reentrant(9));
    EXPECT_EQ(again.code, LockCode::HeldAgain);
    EXPECT_EQ(again.token, first.token);
  }
  EXPECT_EQ(held(shard, "job").hold_count, 4u);
  EXPECT_EQ(shard.wait(2, 1, "job").code, LockCode::Waiting);
  for (std::uint64_t sequence = 5; sequence <= 7; ++sequence) {
    EXPECT_EQ(shard.release(1, sequence, "job", first.token).code, LockCode::HoldReturned);
    EXPECT_TRUE(shard.events.empty());
    EXPECT_EQ(shard.check("job", first.token), TokenVerdict::Valid);
  }
  EXPECT_EQ(shard.release(1, 8, "job", first.token).code, LockCode::Released);
  EXPECT_EQ(shard.events.at(0).session, SessionId{2});
  EXPECT_EQ(shard.release(1, 9, "job", first.token).code, LockCode::NotHolder);
}

TEST(LockHold, L6TheLimitHasItsOwnAnswerAndChangesNothing) {
  LockHarness shard;
  const LockReply first = shard.hold(1, 1, "job", reentrant(2));
  EXPECT_EQ(shard.hold(1, 2, "job", reentrant(2)).code, LockCode::HeldAgain);
  const LockReply over = shard.hold(1, 3, "job", reentrant(2));
  EXPECT_EQ(over.code, LockCode::HoldLimit);
  EXPECT_EQ(over.token, first.token);
  EXPECT_EQ(held(shard, "job").hold_count, 2u);
  const LockReply retry = shard.hold(1, 3, "job", reentrant(2));
  EXPECT_EQ(retry.code, LockCode::HoldLimit);
  EXPECT_TRUE(retry.replayed);
}

TEST(LockHold, L6WhoDoesNotAskForItHoldsOnce) {
  LockHarness shard;
  const LockReply first = shard.hold(1, 1, "job", reentrant(9));
  EXPECT_EQ(shard.wait(1, 2, "job").code, LockCode::AlreadyHeld);
  EXPECT_EQ(held(shard, "job").hold_count, 1u);
  EXPECT_EQ(shard.release(1, 3, "job", first.token).code, LockCode::Released);
  // And a plain hold becomes two when it is asked for a second time.
  const LockReply plain = shard.acquire(1, 4, "job");
  EXPECT_EQ(shard.hold(1, 5, "job", reentrant(9)).code, LockCode::HeldAgain);
  EXPECT_EQ(shard.release(1, 6, "job", plain.token).code, LockCode::HoldReturned);
  EXPECT_EQ(shard.release(1, 7, "job", plain.token).code, LockCode::Released);
}

TEST(LockHold, L6ARetryCountsOnce) {
  LockHarness shard;
  const LockReply first = shard.hold(1, 1, "job", reentrant(9));
  shard.hold(1, 2, "job", reentrant(9));
  shard.hold(1, 2, "job", reentrant(9));
  EXPECT_EQ(held(shard, "job").hold_count, 2u);
  EXPECT_EQ(shard.hold(1, 2, "job", reentrant(8)).code, LockCode::SequenceReused);
  shard.release(1, 3, "job", first.token);
  shard.release(1, 3, "job", first.token);
  EXPECT_EQ(held(shard, "job").hold_count, 1u);
}

TEST(LockHold, L6AReleaseByTokenReturnsAllHoldsBecauseItMayComeTwice) {
  LockHarness shard;
  const LockReply first = shard.hold(1, 1, "job", reentrant(9));
  shard.hold(1, 2, "job", reentrant(9));
  const LockCommand release = make_release({.session = SessionId{1},
                                            .name_hash = hash_name("job"),
                                            .token = first.token,
                                            .by_token = true});
  EXPECT_EQ(shard.apply(release).code, LockCode::Released);
  EXPECT_EQ(shard.apply(release).code, LockCode::NotHeld);
}

TEST(LockHold, L6TheNextHolderStartsWithOneHold) {
  LockHarness shard;
  shard.hold(1, 1, "job", reentrant(9));
  shard.hold(1, 2, "job", reentrant(9));
  shard.hold(2, 1, "job", reentrant(9));
  shard.expire(1);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(held(shard, "job").holder, SessionId{2});
  EXPECT_EQ(held(shard, "job").hold_count, 1u);
  EXPECT_EQ(shard.release(2, 2, "job", shard.events[0].token).code, LockCode::Released);
  EXPECT_EQ(shard.locks.usage().name_blocks, 0u);
}

TEST(LockHold, L20TheNoteIsTheHoldersAndGoesWithIt) {
  LockHarness shard;
  const std::string mine(512, 'm');
  const LockReply first = shard.hold(1, 1, "job", {}, mine);
  EXPECT_EQ(held(shard, "job").note, mine);
  EXPECT_EQ(held(shard, "job").holder, SessionId{1});
  EXPECT_EQ(held(shard, "job").granted_at, shard.last_index());
  EXPECT_EQ(shard.hold(2, 1, "job", {}, "ours").code, LockCode::Waiting);
  EXPECT_EQ(shard.wait(3, 1, "job").code, LockCode::Waiting);
  EXPECT_EQ(held(shard, "job").note, mine);
  shard.release(1, 2, "job", first.token);
  EXPECT_EQ(held(shard, "job").note, "ours");
  shard.release(2, 2, "job", shard.events.at(0).token);
  EXPECT_EQ(held(shard, "job").note, "");
  shard.release(3, 2, "job", shard.events.at(0).token);
  EXPECT_EQ(shard.locks.usage().name_blocks, 0u);
}

TEST(LockHold, L20ANoteOfAWaitThatEndsIsForgotten) {
  LockHarness shard;
  shard.acquire(1, 1, "job");
  shard.hold(2, 1, "job", {}, std::string(100, 'w'));
  shard.hold(3, 1, "job", {}, std::string(100, 'w'));
  const LockReply retry = shard.hold(2, 1, "job", {}, std::string(100, 'w'));
  EXPECT_EQ(retry.code, LockCode::Waiting);
  EXPECT_EQ(retry.token.value, 0u);
  EXPECT_EQ(retry.holder.value, 0u);
  EXPECT_EQ(shard.hold(2, 1, "job", {}, std::string(100, 'x')).code, LockCode::SequenceReused);
  shard.cancel(2, 1);
  shard.expire(3);
  shard.close(1);
  EXPECT_EQ(shard.locks.usage().name_blocks, 0u);
}

TEST(LockHold, ASnapshotKeepsHoldsNotesAndWhatWaitersAskFor) {
  LockHarness source;
  const LockReply first = source.hold(1, 1, "job", reentrant(9), "mine");
  source.hold(1, 2, "job", reentrant(9));
  source.hold(2, 1, "job", reentrant(5), "yours");
  const auto bytes = source.locks.serialize(source.shard);
  LockHarness restored;
  ASSERT_TRUE(restored.locks.deserialize(restored.shard, bytes, Tick{1}).ok());
  EXPECT_EQ(restored.locks.serialize(restored.shard), bytes);
  EXPECT_EQ(held(restored, "job").note, "mine");
  EXPECT_EQ(restored.release(1, 3, "job", first.token).code, LockCode::HoldReturned);
  EXPECT_EQ(restored.release(1, 4, "job", first.token).code, LockCode::Released);
  EXPECT_EQ(held(restored, "job").note, "yours");
  restored.locks.drop(restored.shard);
  EXPECT_EQ(restored.locks.usage().name_blocks, 0u);
}

TEST(LockHold, AShardOfPlainHoldsIsWrittenAsOlderReleasesReadIt) {
  LockHarness shard;
  const FencingToken token = shard.hold(1, 1, "job", {}, "note").token;
  shard.wait(2, 1, "job");
  EXPECT_EQ(shard.locks.serialize(shard.shard).at(4), std::byte{2});
  shard.release(1, 2, "job", token);
  shard.release(2, 2, "job", shard.events.at(0).token);
  shard.acquire(1, 3, "plain");
  shard.wait(2, 3, "plain");
  EXPECT_EQ(shard.locks.serialize(shard.shard).at(4), std::byte{1});
}

}  // namespace
}  // namespace gcoord::locks
