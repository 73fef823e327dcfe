// Holds that are broken by force, and locks that stay nobody's after their holder failed.
#include "locks/state/break.h"
#include "tests/locks/lock_harness.h"

#include <gtest/gtest.h>

namespace gcoord::locks {
namespace {

constexpr HoldOptions kRead{.flags = kHoldShared, .permits = 1};
constexpr HoldOptions kDelay{.delay_ms = 500};

LockReply break_hold(LockHarness& shard,
                     const std::string& name,
                     FencingToken token,
                     bool all = false) {
  const std::string text = name + "annit hangs";
  return shard.apply(make_break_lock({.token = token,
                                      .all = all,
                                      .name_bytes = static_cast<std::uint16_t>(name.size()),
                                      .who_bytes = 3,
                                      .text = text}));
}

LockReply end_delay(LockHarness& shard, const std::string& name, FencingToken token) {
  return shard.apply(make_end_delay(hash_name(name), token));
}

TEST(LockBreak, L15TheNextWaiterIsGrantedUnderAHigherTokenAndTheFormerHolderIsTold) {
  LockHarness shard;
  const LockReply held = shard.acquire(1, 1, "job");
  shard.wait(2, 1, "job");
  const LockReply broken = break_hold(shard, "job", held.token);
  EXPECT_EQ(broken.code, LockCode::Broken);
  EXPECT_EQ(broken.token, held.token);
  EXPECT_EQ(broken.holder, SessionId{1});
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{2});
  EXPECT_GT(shard.events[0].token, held.token);
  EXPECT_EQ(shard.check("job", held.token), TokenVerdict::Broken);
  EXPECT_EQ(shard.check("job", shard.events[0].token), TokenVerdict::Valid);
  const auto lost = shard.locks.losses(SessionId{1});
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].name, "job");
  EXPECT_EQ(lost[0].token, held.token);
  EXPECT_EQ(lost[0].broken_at, shard.last_index());
  EXPECT_TRUE(shard.locks.clock().renew(SessionId{1}, shard.now).broken);
  const LockReply told = shard.release(1, 2, "job", held.token);
  EXPECT_EQ(told.code, LockCode::HoldBroken);
  EXPECT_FALSE(shard.locks.clock().renew(SessionId{1}, shard.now).broken);
  EXPECT_EQ(shard.release(1, 2, "job", held.token).code, LockCode::HoldBroken) << "a retry";
  EXPECT_EQ(shard.release(1, 3, "job", held.token).code, LockCode::NotHolder);
  EXPECT_EQ(shard.check("job", held.token), TokenVerdict::Stale);
}

TEST(LockBreak, L15ItHappensOnceAndNeverToALaterHolder) {
  LockHarness shard;
  const LockReply held = shard.acquire(1, 1, "job");
  EXPECT_EQ(break_hold(shard, "job", held.token + 1).code, LockCode::StaleToken);
  EXPECT_EQ(break_hold(shard, "job", held.token, true).code, LockCode::Broken);
  EXPECT_EQ(break_hold(shard, "job", held.token, true).code, LockCode::NotHeld);
  const LockReply next = shard.acquire(2, 1, "job");
  EXPECT_EQ(break_hold(shard, "job", held.token, true).code, LockCode::StaleToken);
  EXPECT_EQ(shard.check("job", next.token), TokenVerdict::Valid);
  // The one who lost it may have it anew.
  shard.release(2, 2, "job", next.token);
  EXPECT_EQ(shard.acquire(1, 2, "job").code, LockCode::Granted);
}

TEST(LockBreak, L15AllHoldersOfASharedLockLoseItOrOneOfThem) {
  LockHarness shard;
  const FencingToken one = shard.hold(1, 1, "doc", kRead).token;
  const FencingToken two = shard.hold(2, 1, "doc", kRead).token;
  const FencingToken three = shard.hold(3, 1, "doc", kRead).token;
  EXPECT_EQ(break_hold(shard, "doc", two).code, LockCode::Broken);
  EXPECT_EQ(shard.check("doc", one), TokenVerdict::Valid);
  EXPECT_EQ(shard.check("doc", two), TokenVerdict::Broken);
  shard.wait(4, 1, "doc");
  const LockReply all = break_hold(shard, "doc", three, true);
  EXPECT_EQ(all.code, LockCode::Broken);
  EXPECT_EQ(all.holder, SessionId{1}) << "the oldest";
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{4});
  EXPECT_EQ(shard.release(3, 2, "doc", three).code, LockCode::HoldBroken);
}

TEST(LockBreak, L15WhatIsRememberedGoesWithItsSessionAndThroughASnapshot) {
  LockHarness source;
  const LockReply held = source.acquire(1, 1, std::string(200, 'x'));
  source.acquire(1, 2, "other");
  break_hold(source, std::string(200, 'x'), held.token);
  const auto bytes = source.locks.serialize(source.shard);
  LockHarness restored;
  ASSERT_TRUE(restored.locks.deserialize(restored.shard, bytes, Tick{1}).ok());
  EXPECT_EQ(restored.locks.serialize(restored.shard), bytes);
  EXPECT_TRUE(restored.locks.clock().renew(SessionId{1}, Tick{1}).broken);
  EXPECT_EQ(restored.locks.losses(SessionId{1}).size(), 1u);
  restored.close(1);
  EXPECT_EQ(restored.locks.usage().locks, 0u);
  EXPECT_EQ(restored.locks.usage().name_blocks, 0u);
}

TEST(LockBreak, ACommandThatSaysNoReasonOrNobodyDoesNotDecode) {
  const std::string text = "jobannwhy";
  std::vector<std::byte> bytes;
  encode(make_break_lock({.token = FencingToken{7}, .name_bytes = 3, .who_bytes = 3, .text = text}),
         bytes);
  const auto whole = decode(bytes);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(break_who(whole.value()), "ann");
  EXPECT_EQ(break_reason(whole.value()), "why");
  EXPECT_EQ(whole.value().name_hash, hash_name("job"));
  for (std::size_t size = 1; size < bytes.size() - 2; ++size) {
    EXPECT_FALSE(decode(std::span{bytes}.first(size)).ok()) << size;
  }
  bytes[12] = std::byte{0};  // Nobody.
  EXPECT_FALSE(decode(bytes).ok());
}

TEST(LockDelay, L14AfterAnExpiryNobodyHasTheLockUntilTheDelayIsEnded) {
  LockHarness shard;
  const LockReply held = shard.hold(1, 1, "job", kDelay);
  shard.wait(2, 1, "job");
  EXPECT_FALSE(shard.expire(1).more);
  EXPECT_TRUE(shard.events.empty()) << "the waiter waits on";
  EXPECT_EQ(shard.check("job", held.token), TokenVerdict::Stale);
  EXPECT_EQ(shard.acquire(3, 1, "job").code, LockCode::LockDelayed);
  EXPECT_EQ(shard.wait(3, 2, "job").code, LockCode::Waiting);
  EXPECT_EQ(end_delay(shard, "job", held.token + 1).code, LockCode::DelayOver);
  EXPECT_EQ(end_delay(shard, "job", held.token).code, LockCode::DelayEnded);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{2});
  EXPECT_GT(shard.events[0].token, held.token);
  EXPECT_EQ(end_delay(shard, "job", held.token).code, LockCode::DelayOver);
  EXPECT_FALSE(shard.locks.registered(shard.shard, SessionId{1}));
}

TEST(LockDelay, L14ACleanEndPassesTheLockOnAtOnce) {
  LockHarness shard;
  const LockReply held = shard.hold(1, 1, "job", kDelay);
  shard.wait(2, 1, "job");
  shard.release(1, 2, "job", held.token);
  ASSERT_EQ(shard.events.size(), 1u) << "released";
  shard.hold(1, 3, "other", kDelay);
  shard.wait(2, 2, "other");
  shard.close(1);
  ASSERT_EQ(shard.events.size(), 1u) << "closed";
  const LockReply third = shard.hold(3, 1, "third", kDelay);
  shard.wait(2, 3, "third");
  break_hold(shard, "third", third.token);
  ASSERT_EQ(shard.events.size(), 1u) << "broken";
  // The next holder asked for no delay.
  shard.expire(2);
  EXPECT_EQ(shard.acquire(4, 1, "job").code, LockCode::Granted);
}

TEST(LockDelay, L14OnlyLocksThatAskedStayAndABreakEndsADelay) {
  LockHarness shard;
  const LockReply held = shard.hold(1, 1, "job", kDelay, "note");
  shard.acquire(1, 2, "plain");
  shard.hold(1, 3, "also", kDelay);
  shard.expire(1);
  EXPECT_EQ(shard.acquire(2, 1, "plain").code, LockCode::Granted);
  EXPECT_EQ(shard.acquire(2, 2, "job").code, LockCode::LockDelayed);
  EXPECT_EQ(break_hold(shard, "job", held.token).code, LockCode::Broken);
  EXPECT_EQ(shard.acquire(2, 3, "job").code, LockCode::Granted);
  EXPECT_EQ(shard.acquire(2, 4, "also").code, LockCode::LockDelayed);
}

TEST(LockDelay, L14AHugeSessionBeginsItsDelaysInBoundedSteps) {
  LockHarness shard;
  constexpr std::uint64_t kLocks = 3 * kReleasesPerCommandMax;
  for (std::uint64_t i = 1; i <= kLocks; ++i) {
    shard.hold(1, i, "job" + std::to_string(i), kDelay);
  }
  EXPECT_TRUE(shard.expire(1).more);
  EXPECT_EQ(shard.locks.delays().size(), kReleasesPerCommandMax);
  EXPECT_TRUE(shard.expire(1).more);
  EXPECT_FALSE(shard.expire(1).more);
  EXPECT_EQ(shard.locks.delays().size(), kLocks);
  EXPECT_EQ(shard.locks.usage().sessions, 1u);
}

TEST(LockDelay, L14ADelayGoesThroughASnapshotAndBeginsAnewThere) {
  LockHarness source;
  const LockReply held = source.hold(1, 1, "job", kDelay);
  source.hold(1, 2, "live", kDelay, "note");
  source.hold(3, 1, "live2", kDelay);
  source.wait(2, 1, "job");
  source.expire(1);
  const auto bytes = source.locks.serialize(source.shard);
  LockHarness restored;
  restored.locks.on_became_leader(restored.shard, Tick{1}, 10);
  ASSERT_TRUE(restored.locks.deserialize(restored.shard, bytes, Tick{1}).ok());
  EXPECT_EQ(restored.locks.serialize(restored.shard), bytes);
  EXPECT_EQ(restored.locks.delays().size(), 2u);
  EXPECT_EQ(restored.locks.delays().next_deadline(), Tick{1 + 51});
  EXPECT_EQ(end_delay(restored, "job", held.token).code, LockCode::DelayEnded);
  ASSERT_EQ(restored.events.size(), 1u);
  EXPECT_EQ(restored.events[0].session, SessionId{2});
  restored.locks.drop(restored.shard);
  EXPECT_EQ(restored.locks.usage().locks, 0u);
  EXPECT_EQ(restored.locks.usage().name_blocks, 0u);
  EXPECT_EQ(restored.locks.delays().size(), 0u);
}

TEST(DelayClock, L14OnlyTheLeaderEndsADelayAndNoneBeforeItsTime) {
  DelayClock clock{10};
  const DelayedLock lock{ShardId{1}, hash_name("a"), FencingToken{7}, 495};
  EXPECT_TRUE(clock.on_delayed(lock, Tick{100}, false));
  EXPECT_FALSE(clock.on_delayed(lock, Tick{150}, false)) << "it began at the first";
  std::array<DelayedLock, 4> due{};
  EXPECT_EQ(clock.due(Tick{1000}, due), 0u) << "another node leads";
  clock.on_led(ShardId{1});
  EXPECT_EQ(clock.due(Tick{150}, due), 0u);
  EXPECT_EQ(clock.next_deadline(), Tick{151});
  EXPECT_EQ(clock.due(Tick{151}, due), 1u);
  EXPECT_EQ(clock.due(Tick{152}, due), 0u) << "proposed";
  clock.on_refused(ShardId{1}, FencingToken{7}, Tick{160});
  EXPECT_EQ(clock.due(Tick{160}, due), 1u);
  clock.on_not_led(ShardId{1});
  clock.on_led(ShardId{1});
  EXPECT_EQ(clock.due(Tick{161}, due), 1u) << "what was proposed before may be lost";
  clock.on_ended(ShardId{1}, FencingToken{7});
  EXPECT_EQ(clock.size(), 0u);
}

// A snapshot may be taken at any entry, so also between two steps of a session's end, when some of
// its holds are gone, some are not, and one was broken in between.
TEST(LockBreak, L15ASnapshotAfterABreakDuringTheEndOfASessionReadsBack) {
  for (const bool expires : {true, false}) {
    LockHarness source;
    constexpr std::uint64_t kLocks = 3 * kReleasesPerCommandMax;
    std::vector<FencingToken> tokens;
    for (std::uint64_t i = 1; i <= kLocks; ++i) {
      const bool delays = i % 2 == 0;
      const std::string name = "job" + std::to_string(i);
      tokens.push_back(delays ? source.hold(1, i, name, kDelay).token
                              : source.acquire(1, i, name).token);
    }
    const auto end = [expires](LockHarness& shard) {
      return expires ? shard.expire(1) : shard.close(1);
    };
    break_hold(source, "job1", tokens[0]);  // While it lives: remembered.
    ASSERT_TRUE(end(source).more);
    // Its oldest holds are still there: nobody's, and waiting for their end.
    EXPECT_EQ(break_hold(source, "job2", tokens[1]).code, LockCode::Broken);
    EXPECT_EQ(break_hold(source, "job3", tokens[2]).code, LockCode::Broken);
    const auto bytes = source.locks.serialize(source.shard);
    LockHarness restored;
    ASSERT_TRUE(restored.locks.deserialize(restored.shard, bytes, Tick{1}).ok()) << expires;
    EXPECT_EQ(restored.locks.serialize(restored.shard), bytes);
    restored.skip_to(source.last_index());
    for (int step = 0; step < 4; ++step) {
      EXPECT_EQ(end(source).more, end(restored).more) << step;
      EXPECT_EQ(restored.locks.serialize(restored.shard), source.locks.serialize(source.shard));
    }
    EXPECT_EQ(source.acquire(2, 1, "job3").code, LockCode::Granted);
  }
}

}  // namespace
}  // namespace gcoord::locks
