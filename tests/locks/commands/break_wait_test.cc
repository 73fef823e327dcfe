// The end of one wait of a deadlock (L18 of docs/reference/services.md): exactly that wait, once,
// for good.
#include "locks/commands/break_wait.h"

#include "locks/commands/entry.h"
#include "tests/locks/lock_harness.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace gcoord::locks {
namespace {

LockCommand break_wait(std::uint64_t session, std::uint64_t sequence, LogIndex index) {
  return make_break_wait(SessionId{session}, RequestSequence{sequence}, index);
}

TEST(LockBreakWait, L18TheWaitEndsWithDeadlockAndItsRetryIsToldTheSame) {
  LockHarness shard;
  const FencingToken token = shard.acquire(1, 1, "a").token;
  EXPECT_EQ(shard.wait(2, 1, "a").code, LockCode::Waiting);
  const LogIndex index = shard.last_index();
  EXPECT_EQ(shard.wait(3, 1, "a").code, LockCode::Waiting);
  EXPECT_EQ(shard.apply(break_wait(2, 1, index)).code, LockCode::Deadlock);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].code, LockCode::Deadlock);
  EXPECT_EQ(shard.events[0].session, SessionId{2});
  EXPECT_EQ(shard.wait(2, 1, "a").code, LockCode::Deadlock);
  EXPECT_EQ(shard.apply(break_wait(2, 1, index)).code, LockCode::NotWaiting);
  shard.release(1, 2, "a", token);
  ASSERT_EQ(shard.events.size(), 1u);
  EXPECT_EQ(shard.events[0].session, SessionId{3});
}

TEST(LockBreakWait, L18AnotherWaitUnderTheSameNumbersIsLeftAlone) {
  LockHarness shard;
  shard.acquire(1, 1, "a");
  shard.wait(2, 1, "a");
  const LogIndex index = shard.last_index();
  shard.close(2);
  shard.wait(2, 1, "a");  // The session was forgotten; its numbers begin anew.
  EXPECT_EQ(shard.apply(break_wait(2, 1, index)).code, LockCode::NotWaiting);
  EXPECT_TRUE(shard.events.empty());
  EXPECT_EQ(shard.apply(break_wait(2, 1, shard.last_index() + 1)).code, LockCode::NotWaiting);
}

TEST(LockBreakWait, L18WhoStoodBehindItComesIn) {
  LockHarness shard;
  shard.hold(1, 1, "a", {.flags = kHoldShared, .permits = 1});
  shard.wait(2, 1, "a");
  const LogIndex writer = shard.last_index();
  shard.hold(3, 1, "a", {.flags = kHoldShared, .permits = 1});
  EXPECT_EQ(shard.apply(break_wait(2, 1, writer)).code, LockCode::Deadlock);
  ASSERT_EQ(shard.events.size(), 2u);
  EXPECT_EQ(shard.events[1].code, LockCode::Granted);
  EXPECT_EQ(shard.events[1].session, SessionId{3});
}

TEST(LockBreakWait, L18ComesBackFromTheLogAndFromADeviceAsItWas) {
  const LockCommand command = break_wait(7, 8, LogIndex{9});
  std::vector<std::byte> bytes;
  EXPECT_EQ(encode(command, bytes), 26u);
  const auto decoded = decode(bytes);
  ASSERT_TRUE(decoded.ok());
  const LockCommand from_device = command_of(entries_of(command).back());
  for (const LockCommand& back : {decoded.value(), from_device}) {
    EXPECT_EQ(back.kind, LockCommandKind::BreakWait);
    EXPECT_EQ(back.session, SessionId{7});
    EXPECT_EQ(back.sequence, RequestSequence{8});
    EXPECT_EQ(back.token, FencingToken{9});
  }
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode(std::span{bytes}.first(size)).ok()) << size;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode(bytes).ok());
  bytes.assign(26, std::byte{0});
  bytes[0] = std::byte{13};
  EXPECT_FALSE(decode(bytes).ok());  // No session.
}

TEST(LockBreakWait, L18ASnapshotRemembersWhatTheAcquireWasTold) {
  LockHarness shard;
  shard.acquire(1, 1, "a");
  shard.wait(2, 1, "a");
  shard.apply(break_wait(2, 1, shard.last_index()));
  LockHarness other;
  ASSERT_TRUE(
      other.locks.deserialize(other.shard, shard.locks.serialize(shard.shard), Tick{1}).ok());
  other.skip_to(shard.last_index());
  EXPECT_EQ(other.wait(2, 1, "a").code, LockCode::Deadlock);
  EXPECT_EQ(shard.wait(2, 1, "a").code, LockCode::Deadlock);
  EXPECT_EQ(shard.locks.serialize(shard.shard), other.locks.serialize(other.shard));
}

}  // namespace
}  // namespace gcoord::locks
