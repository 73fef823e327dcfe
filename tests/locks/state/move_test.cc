// Moving a lock between shards: what each of the three commands does, in any order and repeated.
#include "locks/state/move.h"

#include "tests/locks/lock_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gcoord::locks {
namespace {

constexpr ShardId kHome{0};
constexpr ShardId kOther{2};
constexpr ShardId kThird{3};

class LockMove : public testing::Test {
 protected:
  LockReply at(ShardId shard, const LockCommand& command) {
    shards_.shard = shard;
    return shards_.apply(command);
  }

  LockReply wait(ShardId shard, std::uint64_t session, std::uint64_t sequence) {
    shards_.shard = shard;
    return shards_.wait(session, sequence, "a");
  }

  LockReply release(ShardId shard, std::uint64_t session, std::uint64_t sequence, FencingToken t) {
    shards_.shard = shard;
    return shards_.release(session, sequence, "a", t);
  }

  LockReply out(ShardId from, ShardId to, const std::string& name = "a") {
    return at(from, make_move_out(name, to));
  }

  // What is on its way from the shard to another one; there is one such lock.
  DepartedLock departed(ShardId from) const {
    const auto found = shards_.locks.departed(from);
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? DepartedLock{} : found[0];
  }

  LockReply in(ShardId from, const DepartedLock& lock) {
    LockCommand command = make_move_in({.from = from,
                                        .number = lock.number,
                                        .token = lock.token,
                                        .token_last = lock.token_last,
                                        .name_bytes = lock.name_bytes,
                                        .text = lock.text});
    command.flags = places_lapse_ ? kMoveInLapses : 0;
    return at(lock.to, command);
  }

  // The session's place in the queue of a lock that came, or its grant, if nobody asked after it.
  LockReply lapse(ShardId shard, std::uint64_t session) {
    for (const OrphanedWait& place : shards_.locks.unclaimed(shard, hash_name("a"))) {
      if (place.session.value == session) {
        return at(shard, make_move_lapse(place.session, place.sequence, place.name));
      }
    }
    return {};
  }

  std::size_t unclaimed(ShardId shard) const {
    const std::size_t count = shards_.locks.unclaimed(shard).size();
    EXPECT_EQ(count, shards_.locks.unclaimed(shard, hash_name("a")).size());
    return count;
  }

  LockReply done(ShardId from, const DepartedLock& lock) {
    return at(from, make_move_done(hash_name("a"), lock.number));
  }

  void move(ShardId from, ShardId to) {
    ASSERT_EQ(out(from, to).code, LockCode::MovedOut);
    const DepartedLock lock = departed(from);
    ASSERT_EQ(in(from, lock).code, LockCode::MovedIn);
    ASSERT_EQ(done(from, lock).code, LockCode::MoveSealed);
  }

  std::vector<std::uint64_t> queue(ShardId shard) const {
    std::vector<std::uint64_t> sessions;
    for (const QueuedWaiter& waiter : shards_.locks.waiters(shard, hash_name("a"), 0, 2000)) {
      sessions.push_back(waiter.session.value);
    }
    return sessions;
  }

  TokenVerdict check(ShardId shard, FencingToken token) const {
    return shards_.locks.check({shard, hash_name("a"), token});
  }

  // A snapshot of each shard says the same as the shard, and leaves nothing behind.
  void expect_snapshots() {
    for (const ShardId shard : {kHome, kOther, kThird}) {
      const auto bytes = shards_.locks.serialize(shard);
      LockHarness again;
      const Status read = again.locks.deserialize(shard, bytes, Tick{1});
      ASSERT_TRUE(read.ok()) << read.message();
      EXPECT_EQ(again.locks.serialize(shard), bytes);
      again.locks.drop(shard);
      const LockUsage usage = again.locks.usage();
      EXPECT_EQ(usage.locks + usage.sessions + usage.requests + usage.name_blocks, 0u);
    }
  }

  LockHarness shards_;
  bool places_lapse_ = true;
};

TEST_F(LockMove, L19HolderQueueAndTokensComeAlongWith100Waiters) {
  const LockReply held = wait(kHome, 1, 1);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t session = 2; session <= 101; ++session) {
    ASSERT_EQ(wait(kHome, session, 1).code, LockCode::Waiting);
    expected.push_back(session);
  }
  EXPECT_EQ(out(kHome, kOther).code, LockCode::MovedOut);
  // Everybody who waited is told once where the lock is, in the order of the queue.
  ASSERT_EQ(shards_.events.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(shards_.events[i].code, LockCode::Moved);
    EXPECT_EQ(shards_.events[i].session.value, expected[i]);
    EXPECT_EQ(shards_.events[i].token.value, kOther.value);
  }
  expect_snapshots();
  const DepartedLock lock = departed(kHome);
  EXPECT_EQ(in(kHome, lock).code, LockCode::MovedIn);
  EXPECT_EQ(done(kHome, lock).code, LockCode::MoveSealed);
  EXPECT_EQ(check(kOther, held.token), TokenVerdict::Valid);
  EXPECT_EQ(queue(kOther), expected);
  expect_snapshots();
  // They ask again in any order, and keep their places.
  for (auto session = expected.rbegin(); session != expected.rend(); ++session) {
    EXPECT_EQ(wait(kOther, *session, 1).code, LockCode::Waiting);
  }
  EXPECT_EQ(queue(kOther), expected);
  FencingToken token = held.token;
  std::uint64_t holder = 1;
  for (const std::uint64_t next : expected) {
    ASSERT_EQ(release(kOther, holder, 2, token).code, LockCode::Released);
    ASSERT_EQ(shards_.events.size(), 1u);
    EXPECT_EQ(shards_.events[0].session.value, next);
    EXPECT_EQ(shards_.events[0].sequence.value, 1u) << "told under the number that it asked by";
    EXPECT_GT(shards_.events[0].token, token);
    token = shards_.events[0].token;
    holder = next;
  }
}

TEST_F(LockMove, L19NobodyIsGrantedTheLockBetweenTheShards) {
  const LockReply held = wait(kHome, 1, 1);
  wait(kHome, 2, 1);
  out(kHome, kOther);
  EXPECT_EQ(wait(kHome, 3, 1).code, LockCode::Moved);
  EXPECT_EQ(wait(kHome, 3, 1).code, LockCode::Moved) << "a retry";
  EXPECT_EQ(release(kHome, 1, 2, held.token).code, LockCode::Moved);
  EXPECT_EQ(check(kHome, held.token), TokenVerdict::Free);
  shards_.shard = kHome;
  EXPECT_EQ(shards_.expire(1).code, LockCode::SessionExpired);
  EXPECT_TRUE(shards_.events.empty());
  EXPECT_EQ(shards_.close(2).code, LockCode::SessionClosed);
  EXPECT_TRUE(shards_.events.empty());
  in(kHome, departed(kHome));
  EXPECT_EQ(check(kOther, held.token), TokenVerdict::Valid);
}

TEST_F(LockMove, L19EachStepHappensOnceHoweverOftenItComes) {
  const LockReply held = wait(kHome, 1, 1);
  wait(kHome, 2, 1);
  out(kHome, kOther);
  EXPECT_EQ(out(kHome, kOther).code, LockCode::Moved);
  const DepartedLock lock = departed(kHome);
  in(kHome, lock);
  EXPECT_TRUE(in(kHome, lock).replayed);
  EXPECT_EQ(release(kOther, 1, 1, held.token).code, LockCode::Released);
  EXPECT_TRUE(in(kHome, lock).replayed) << "the lock went on";
  EXPECT_EQ(check(kOther, held.token), TokenVerdict::Stale);
  EXPECT_FALSE(done(kHome, lock).replayed);
  EXPECT_TRUE(done(kHome, lock).replayed);
  EXPECT_TRUE(shards_.locks.departed(kHome).empty());
  // And when the lock has moved on, what comes late changes nothing.
  EXPECT_EQ(wait(kOther, 2, 1).code, LockCode::Granted);
  const DepartedLock first = lock;
  out(kOther, kHome);
  const DepartedLock second = departed(kOther);
  EXPECT_EQ(second.number, 2u);
  EXPECT_TRUE(in(kHome, first).replayed);
  EXPECT_EQ(in(kOther, second).code, LockCode::MovedIn);
  done(kOther, second);
  EXPECT_TRUE(in(kHome, first).replayed);
  EXPECT_TRUE(in(kOther, second).replayed);
  EXPECT_EQ(check(kOther, held.token), TokenVerdict::Free);
  EXPECT_EQ(shards_.locks.residence(kHome, hash_name("a"))->residence, Residence::Here);
  expect_snapshots();
}

TEST_F(LockMove, L19TokensRiseOverAnyNumberOfMoves) {
  shards_.shard = kHome;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const LockReply other = shards_.acquire(9, 2 * i + 1, "other", 2 * i + 1);
    shards_.release(9, 2 * i + 2, "other", other.token, 2 * i + 2);
  }
  FencingToken newest;
  ShardId here = kHome;
  for (std::uint64_t i = 1; i <= 10; ++i) {
    const LockReply held = wait(here, 100 + i, 1);
    ASSERT_EQ(held.code, LockCode::Granted);
    EXPECT_GT(held.token, newest);
    newest = held.token;
    const ShardId to = here == kHome ? kOther : kHome;
    move(here, to);
    EXPECT_EQ(check(to, newest), TokenVerdict::Valid);
    EXPECT_EQ(release(to, 100 + i, 1 + i, newest).code, LockCode::Released);
    EXPECT_EQ(check(to, newest), TokenVerdict::Free);
    here = to;
  }
  expect_snapshots();
}

TEST_F(LockMove, L19AGrantThatCameBeforeItsSessionAskedIsThatRequests) {
  const LockReply held = wait(kHome, 1, 1);
  wait(kHome, 2, 1);
  move(kHome, kOther);
  release(kOther, 1, 1, held.token);
  ASSERT_EQ(shards_.events.size(), 1u);
  const FencingToken granted = shards_.events[0].token;
  const LockReply asked = wait(kOther, 2, 1);
  EXPECT_EQ(asked.code, LockCode::Granted);
  EXPECT_EQ(asked.token, granted);
  EXPECT_EQ(wait(kOther, 2, 1).code, LockCode::Granted) << "a retry of it";
  EXPECT_EQ(wait(kOther, 2, 2).code, LockCode::AlreadyHeld) << "another request";
}

TEST_F(LockMove, L19ASessionThatEndedWhereTheLockComesToHoldsNothing) {
  shards_.shard = kOther;
  shards_.acquire(1, 1, "x");
  for (std::uint64_t i = 2; i < 80; ++i) {
    shards_.acquire(1, i, "x" + std::to_string(i));
  }
  wait(kHome, 1, 1);
  wait(kHome, 2, 1);
  shards_.shard = kOther;
  EXPECT_TRUE(shards_.expire(1).more) << "its end takes more than one command";
  move(kHome, kOther);
  EXPECT_TRUE(shards_.locks.get(kOther, hash_name("a")).has_value());
  EXPECT_EQ(wait(kOther, 2, 1).code, LockCode::Granted);
  expect_snapshots();
}

TEST_F(LockMove, L19WhatIsMoreThanPlainStays) {
  shards_.shard = kHome;
  shards_.hold(1, 1, "a", {.flags = kHoldShared, .permits = 1});
  EXPECT_EQ(out(kHome, kOther).code, LockCode::MoveNotPlain);
  shards_.hold(1, 2, "b", {.flags = kHoldReentrant, .limit = 3}, "note");
  EXPECT_EQ(out(kHome, kOther, "b").code, LockCode::MoveNotPlain);
  shards_.acquire(1, 3, "c");
  shards_.hold(2, 1, "c", {.flags = kHoldShared, .permits = 1});
  EXPECT_EQ(out(kHome, kOther, "c").code, LockCode::MoveNotPlain);
  shards_.hold(1, 4, "d", {.delay_ms = 500});
  EXPECT_EQ(out(kHome, kOther, "d").code, LockCode::MoveNotPlain);
  shards_.expire(1);
  EXPECT_EQ(out(kHome, kOther, "d").code, LockCode::MoveNotPlain) << "its delay runs";
  EXPECT_TRUE(shards_.locks.departed(kHome).empty());
}

// What a MoveIn has room for is what one entry of the log has room for.
TEST_F(LockMove, L19AsManyWaitersAreMovedAsOneEntryHasRoomFor) {
  const auto fits = [this](const std::string& name, std::uint64_t waiters) {
    LockHarness fresh;
    fresh.shard = kHome;
    for (std::uint64_t session = 1; session <= waiters + 1; ++session) {
      fresh.wait(session, 1, name);
    }
    if (fresh.apply(make_move_out(name, kOther)).code != LockCode::MovedOut) {
      return false;
    }
    const DepartedLock lock = fresh.locks.departed(kHome).at(0);
    std::vector<std::byte> bytes;
    encode(make_move_in({.from = kHome,
                         .number = lock.number,
                         .token = lock.token,
                         .token_last = lock.token_last,
                         .name_bytes = lock.name_bytes,
                         .text = lock.text}),
           bytes);
    EXPECT_LE(bytes.size(), kMoveCommandBytesMax);
    EXPECT_TRUE(decode(bytes).ok());
    return true;
  };
  EXPECT_FALSE(fits("ten_bytes_", 200));
  EXPECT_FALSE(fits("ten_bytes_", 166));
  EXPECT_TRUE(fits("ten_bytes_", 165));
  EXPECT_FALSE(fits(std::string(kNameBytesMax, 'n'), 82));
  EXPECT_TRUE(fits(std::string(kNameBytesMax, 'n'), 81));
}

TEST_F(LockMove, L19NumbersBeyondTheLastAreRefusedNotWrapped) {
  const auto decoded = [](std::uint32_t number, std::uint64_t token_last) {
    std::vector<std::byte> bytes;
    encode(make_move_in({.from = kHome, .number = 1, .name_bytes = 1, .text = "a"}), bytes);
    for (std::size_t i = 0; i < 4; ++i) {
      bytes[2 + i] = static_cast<std::byte>(number >> (8 * i));
    }
    for (std::size_t i = 0; i < 8; ++i) {
      bytes[18 + i] = static_cast<std::byte>(token_last >> (8 * i));
    }
    return decode(bytes).ok();
  };
  EXPECT_TRUE(decoded(kMoveNumberMax, kMovedTokenMax));
  EXPECT_FALSE(decoded(kMoveNumberMax + 1, 0));
  EXPECT_FALSE(decoded(1, kMovedTokenMax + 1));
  // A lock that came with the last number stays where it is, and so do all of a shard whose tokens
  // have come so far.
  ASSERT_EQ(
      at(kOther,
         make_move_in({.from = kHome, .number = kMoveNumberMax, .name_bytes = 1, .text = "a"}))
          .code,
      LockCode::MovedIn);
  EXPECT_EQ(out(kOther, kHome).code, LockCode::MoveNotPlain);
  ASSERT_EQ(at(kThird,
               make_move_in({.from = kHome,
                             .number = 1,
                             .token_last = kMovedTokenMax,
                             .name_bytes = 1,
                             .text = "a"}))
                .code,
            LockCode::MovedIn);
  EXPECT_EQ(wait(kThird, 1, 1).token.value, kMovedTokenMax + 1);
  EXPECT_EQ(out(kThird, kHome).code, LockCode::MoveNotPlain);
}

TEST_F(LockMove, L19ASnapshotAfterABreakOfAMovedLockIsRead) {
  const LockReply held = wait(kHome, 1, 1);
  shards_.shard = kOther;
  ASSERT_EQ(shards_.acquire(9, 1, "native").token, held.token) << "two shards grant alike";
  move(kHome, kOther);
  ASSERT_EQ(at(kOther,
               make_break_lock(
                   {.token = held.token, .name_bytes = 1, .who_bytes = 3, .text = "aannit hangs"}))
                .code,
            LockCode::Broken);
  expect_snapshots();
}

TEST_F(LockMove, L19AGrantThatNobodyAskedForIsNotMovedOn) {
  const LockReply held = wait(kHome, 1, 1);
  wait(kHome, 2, 1);
  move(kHome, kOther);
  release(kOther, 1, 1, held.token);
  EXPECT_EQ(out(kOther, kHome).code, LockCode::MoveNotPlain);
  EXPECT_EQ(wait(kOther, 2, 1).code, LockCode::Granted);
  EXPECT_EQ(out(kOther, kHome).code, LockCode::MovedOut);
}

TEST_F(LockMove, L19WhoAsksForMoreDoesNotTakeOverAPlainWait) {
  wait(kHome, 1, 1);
  wait(kHome, 2, 1);
  move(kHome, kOther);
  shards_.shard = kOther;
  EXPECT_EQ(shards_.hold(2, 1, "a", {.delay_ms = 500}).code, LockCode::Waiting);
  EXPECT_EQ(queue(kOther), (std::vector<std::uint64_t>{2, 2}));
}

TEST_F(LockMove, L19ASessionThatWasClosedMeanwhileIsDueAtOnce) {
  wait(kHome, 1, 1);
  shards_.locks.on_became_leader(kOther, shards_.now, 1);
  out(kHome, kOther);
  shards_.shard = kHome;
  ASSERT_EQ(shards_.close(1).code, LockCode::SessionClosed);
  in(kHome, departed(kHome));
  std::vector<sessions::ExpiryProposal> due(8);
  ASSERT_EQ(shards_.locks.clock().expired(shards_.now, due), 1u);
  EXPECT_EQ(due[0].shard, kOther);
  EXPECT_EQ(due[0].session.value, 1u);
}

TEST_F(LockMove, L19AtMostAsManyWaitersAreMovedAsThereIsRoomFor) {
  wait(kHome, 1, 1);
  for (std::uint64_t session = 2; session <= kMoveWaitersMax + 2; ++session) {
    wait(kHome, session, 1);
  }
  EXPECT_EQ(out(kHome, kOther).code, LockCode::MoveCrowded);
  shards_.shard = kHome;
  shards_.cancel(kMoveWaitersMax + 2, 1);
  move(kHome, kOther);
  EXPECT_EQ(queue(kOther).size(), kMoveWaitersMax);
  expect_snapshots();
}

TEST_F(LockMove, L19ANameThatNobodyHoldsMovesOnlyOnceItWasMoved) {
  EXPECT_EQ(out(kHome, kOther).code, LockCode::NotHeld);
  EXPECT_EQ(shards_.locks.usage().locks + shards_.locks.usage().sessions, 0u);
  const LockReply first = wait(kHome, 9, 1);
  move(kHome, kOther);
  EXPECT_EQ(release(kOther, 9, 1, first.token).code, LockCode::Released);
  move(kOther, kHome);
  move(kHome, kOther);
  EXPECT_EQ(wait(kHome, 1, 1).code, LockCode::Moved);
  EXPECT_FALSE(shards_.locks.get(kHome, hash_name("a")).has_value());
  EXPECT_FALSE(shards_.locks.get(kOther, hash_name("a")).has_value());
  EXPECT_EQ(release(kOther, 1, 1, FencingToken{1}).code, LockCode::SessionUnknown);
  shards_.shard = kOther;
  const LockReply held = shards_.hold(1, 1, "a", {.flags = kHoldReentrant, .limit = 2}, "a note");
  EXPECT_EQ(held.code, LockCode::Granted);
  EXPECT_EQ(shards_.locks.get(kOther, hash_name("a"))->note, "a note");
  EXPECT_EQ(release(kOther, 1, 2, held.token).code, LockCode::Released);
  EXPECT_EQ(release(kOther, 1, 3, held.token).code, LockCode::NotHeld);
  EXPECT_EQ(shards_.locks.get(kOther, hash_name("a")), std::nullopt);
  EXPECT_EQ(shards_.hold(2, 1, "a", {.flags = kHoldShared, .permits = 1}).code, LockCode::Granted);
  EXPECT_EQ(shards_.hold(3, 1, "a", {.flags = kHoldShared, .permits = 1}).code, LockCode::Granted);
  shards_.close(2);
  shards_.close(3);
  expect_snapshots();
}

TEST_F(LockMove, L19NobodySpeaksForTheKeeper) {
  wait(kHome, 9, 1);
  move(kHome, kOther);
  shards_.shard = kHome;
  LockCommand close = make_close_session(kKeeperSession, RequestSequence{1});
  std::vector<std::byte> bytes;
  encode(make_close_session(SessionId{5}, RequestSequence{1}), bytes);
  std::fill(bytes.begin() + 2, bytes.begin() + 10, std::byte{0xff});
  EXPECT_EQ(shards_.apply_bytes(bytes).code, LockCode::UnknownCommand);
  LockEvents none;
  LockEvent room[kPlainEventsPerCommandMax];
  none.events = room;
  none.capacity = kPlainEventsPerCommandMax;
  EXPECT_EQ(shards_.locks.apply(kHome, LogIndex{99}, close, Tick{1}, none).code,
            LockCode::SessionUnknown);
  EXPECT_EQ(wait(kHome, 1, 1).code, LockCode::Moved);
}

TEST_F(LockMove, L19RegistrationsThatComeWithALockExpire) {
  wait(kHome, 1, 1);
  wait(kHome, 2, 1);
  shards_.locks.on_became_leader(kOther, shards_.now, 1);
  move(kHome, kOther);
  std::vector<sessions::ExpiryProposal> due(8);
  const std::size_t count = shards_.locks.clock().expired(Tick{1'000'000}, due);
  EXPECT_EQ(count, 2u) << "holder and waiter live on keep-alives here as everywhere";
}

TEST_F(LockMove, L19APlaceThatNobodyAsksAfterLapses) {
  const LockReply held = wait(kHome, 1, 1);
  wait(kHome, 2, 1);
  wait(kHome, 3, 1);
  move(kHome, kOther);
  EXPECT_EQ(unclaimed(kOther), 2u);
  EXPECT_EQ(lapse(kOther, 2).code, LockCode::WaitCancelled);
  EXPECT_EQ(queue(kOther), (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(unclaimed(kOther), 1u);
  expect_snapshots();
  release(kOther, 1, 1, held.token);
  ASSERT_EQ(shards_.events.size(), 1u);
  EXPECT_EQ(shards_.events[0].session.value, 3u);
  // Who asks after all is behind those who did.
  EXPECT_EQ(wait(kOther, 2, 1).code, LockCode::Waiting);
}

TEST_F(LockMove, L19AGrantThatNobodyAsksAfterLapsesAndTheNextInLineIsGranted) {
  const LockReply held = wait(kHome, 1, 1);
  wait(kHome, 2, 1);
  wait(kHome, 3, 1);
  move(kHome, kOther);
  release(kOther, 1, 1, held.token);
  ASSERT_EQ(shards_.events.size(), 1u);
  const FencingToken nobodys = shards_.events[0].token;
  EXPECT_EQ(unclaimed(kOther), 2u);
  const LockReply ended = lapse(kOther, 2);
  EXPECT_EQ(ended.code, LockCode::Released);
  EXPECT_EQ(ended.token, nobodys);
  ASSERT_EQ(shards_.events.size(), 1u);
  EXPECT_EQ(shards_.events[0].session.value, 3u);
  EXPECT_GT(shards_.events[0].token, nobodys);
  expect_snapshots();
  EXPECT_EQ(lapse(kOther, 3).code, LockCode::Released);
  EXPECT_EQ(unclaimed(kOther), 0u);
  EXPECT_FALSE(shards_.locks.get(kOther, hash_name("a")).has_value());
  // Others may have heard that it was held, so who was granted it hears of the end, once.
  EXPECT_EQ(wait(kOther, 2, 1).code, LockCode::WaitCancelled);
  EXPECT_EQ(wait(kOther, 2, 1).code, LockCode::WaitCancelled) << "a retry of it";
  const LockReply again = wait(kOther, 2, 2);
  EXPECT_EQ(again.code, LockCode::Granted);
  EXPECT_EQ(wait(kOther, 3, 1).code, LockCode::WaitCancelled) << "also where it is held again";
  expect_snapshots();
  EXPECT_EQ(release(kOther, 2, 3, again.token).code, LockCode::Released);
  EXPECT_EQ(out(kOther, kHome).code, LockCode::MovedOut) << "and may be moved on";
}

// Else a lock would be taken from one who was told that it has it.
TEST_F(LockMove, L19WhatWasAskedAfterDoesNotLapse) {
  const LockReply held = wait(kHome, 1, 1);
  wait(kHome, 2, 1);
  wait(kHome, 3, 1);
  move(kHome, kOther);
  const OrphanedWait third = shards_.locks.unclaimed(kOther, hash_name("a")).at(1);
  EXPECT_EQ(wait(kOther, 3, 1).code, LockCode::Waiting);
  EXPECT_EQ(at(kOther, make_move_lapse(third.session, third.sequence, third.name)).code,
            LockCode::NotWaiting);
  EXPECT_EQ(queue(kOther), (std::vector<std::uint64_t>{2, 3}));
  release(kOther, 1, 1, held.token);
  const OrphanedWait second = shards_.locks.unclaimed(kOther, hash_name("a")).at(0);
  const FencingToken granted = shards_.events.at(0).token;
  // It does not wait, and hears that it holds the lock: it has claimed it.
  shards_.shard = kOther;
  const LockReply told = shards_.acquire(2, 1, "a");
  EXPECT_EQ(told.code, LockCode::AlreadyHeld);
  EXPECT_EQ(told.token, granted);
  EXPECT_EQ(unclaimed(kOther), 0u);
  EXPECT_EQ(at(kOther, make_move_lapse(second.session, second.sequence, second.name)).code,
            LockCode::NotWaiting);
  EXPECT_EQ(check(kOther, granted), TokenVerdict::Valid);
}

// Nodes of older releases know nothing of it, so where they may be none lapses.
TEST_F(LockMove, L19PlacesThatCameWithoutSayingSoNeverLapse) {
  places_lapse_ = false;
  wait(kHome, 1, 1);
  wait(kHome, 2, 1);
  move(kHome, kOther);
  EXPECT_EQ(unclaimed(kOther), 0u);
  std::vector<std::byte> bytes;
  encode(
      make_move_lapse(
          SessionId{2}, RequestSequence{kImportedSequence | kLapsingSequence | 7}, hash_name("a")),
      bytes);
  EXPECT_TRUE(decode(bytes).ok());
  bytes[2 + 8 + 7] = std::byte{0x80};  // The sequence of a place that does not lapse.
  EXPECT_FALSE(decode(bytes).ok());
  bytes.pop_back();
  EXPECT_FALSE(decode(bytes).ok());
}

}  // namespace
}  // namespace gcoord::locks
