// Snapshots that others wrote: damaged ones are refused and leave the shard empty.
#include "locks/snapshot/snapshot.h"

#include "tests/locks/lock_harness.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace gcoord::locks {
namespace {

// Holders, waiters, kept replies, a long name and a session that is half ended.
void fill(LockHarness& shard) {
  shard.acquire(1, 1, "job");
  shard.wait(2, 1, "job");
  shard.wait(3, 1, "job");
  shard.acquire(3, 2, std::string(300, 'n'));
  shard.acquire(2, 2, std::string(300, 'n'));
  for (std::uint64_t i = 1; i <= kReleasesPerCommandMax + 3; ++i) {
    shard.acquire(4, i, "many" + std::to_string(i), i);
  }
  shard.expire(4);
}

TEST(LockSnapshot, RestoredShardWritesTheSameBytesAndGoesOnAlike) {
  LockHarness source;
  fill(source);
  const auto bytes = source.locks.serialize(source.shard);
  LockHarness restored;
  restored.shard = ShardId{3};
  ASSERT_TRUE(restored.locks.deserialize(restored.shard, bytes, Tick{1}).ok());
  EXPECT_EQ(restored.locks.serialize(restored.shard), bytes);
  EXPECT_EQ(restored.locks.usage().waiters, 2u);
  EXPECT_FALSE(restored.expire(4).more);
  EXPECT_EQ(restored.release(1, 2, "job", FencingToken{1}).code, LockCode::Released);
  EXPECT_EQ(restored.events.at(0).session, SessionId{2});
}

TEST(LockSnapshot, TokensKeepRisingThroughARestore) {
  LockHarness source;
  const FencingToken token = source.acquire(1, 1, "job").token;
  source.release(1, 2, "job", token);
  LockHarness restored;
  ASSERT_TRUE(
      restored.locks.deserialize(restored.shard, source.locks.serialize(source.shard), Tick{1})
          .ok());
  EXPECT_GT(restored.acquire(1, 3, "job").token, token);
}

TEST(LockSnapshot, ARaisedStateIsTheSameButForTheTokensToCome) {
  LockHarness source;
  fill(source);
  const auto bytes = source.locks.serialize(source.shard);
  const auto raised = raise_snapshot(bytes, 1'000'000, SnapshotSessions::Keep);
  ASSERT_TRUE(raised.ok()) << raised.status().to_string();
  const auto before = parse_snapshot(bytes).value();
  const auto after = parse_snapshot(raised.value()).value();
  EXPECT_EQ(after.token_last, before.token_last + 1'000'000);
  EXPECT_EQ(after.state_hash, before.state_hash);
  EXPECT_EQ(after.sessions.size(), before.sessions.size());
  EXPECT_EQ(after.waiters, before.waiters);
  ASSERT_EQ(after.locks.size(), before.locks.size());
  for (std::size_t k = 0; k < after.locks.size(); ++k) {
    EXPECT_EQ(after.locks[k].token, before.locks[k].token);
  }
  LockHarness restored;
  ASSERT_TRUE(restored.locks.deserialize(restored.shard, raised.value(), Tick{1}).ok());
  EXPECT_EQ(restored.acquire(9, 1, "another").token.value, before.token_last + 1'000'001);
}

TEST(LockSnapshot, AStateWithoutSessionsKeepsWhatWasGranted) {
  LockHarness source;
  fill(source);
  const auto bytes = source.locks.serialize(source.shard);
  const auto raised = raise_snapshot(bytes, 5, SnapshotSessions::Drop);
  ASSERT_TRUE(raised.ok());
  const auto state = parse_snapshot(raised.value());
  ASSERT_TRUE(state.ok()) << state.status().to_string();
  EXPECT_TRUE(state.value().sessions.empty());
  EXPECT_TRUE(state.value().locks.empty());
  EXPECT_EQ(state.value().token_last, parse_snapshot(bytes).value().token_last + 5);
  EXPECT_EQ(state.value().serial_last, parse_snapshot(bytes).value().serial_last);
}

TEST(LockSnapshot, AnInitialStateIsRaisedToo) {
  const auto raised = raise_snapshot({}, 7, SnapshotSessions::Keep);
  ASSERT_TRUE(raised.ok());
  LockHarness restored;
  ASSERT_TRUE(restored.locks.deserialize(restored.shard, raised.value(), Tick{1}).ok());
  EXPECT_EQ(restored.acquire(1, 1, "job").token, FencingToken{8});
}

TEST(LockSnapshot, NobodyRaisesTokensBeyondWhatTheyHold) {
  EXPECT_EQ(raise_snapshot({}, ~std::uint64_t{0}, SnapshotSessions::Keep).status().code(),
            StatusCode::OutOfRange);
  const std::vector<std::byte> damaged(31);
  EXPECT_EQ(raise_snapshot(damaged, 1, SnapshotSessions::Keep).status().code(),
            StatusCode::DataLoss);
}

TEST(LockSnapshot, EmptyShardIsAFewBytesWhateverTheNodeHolds) {
  LockHarness shard;
  fill(shard);
  EXPECT_EQ(shard.locks.serialize(ShardId{2}).size(), 30u);
}

TEST(LockSnapshot, EveryTruncationIsDataLossAndLeavesTheShardEmpty) {
  LockHarness source;
  fill(source);
  const auto bytes = source.locks.serialize(source.shard);
  LockHarness restored;
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 64) {
    const Status status =
        restored.locks.deserialize(restored.shard, std::span(bytes).first(size), Tick{1});
    ASSERT_EQ(status.code(), StatusCode::DataLoss) << size;
    ASSERT_EQ(restored.locks.usage().sessions, 0u);
  }
}

TEST(LockSnapshot, HugeCountsAreRefusedWithoutTheMemoryTheyClaim) {
  LockHarness source;
  auto bytes = source.locks.serialize(source.shard);
  for (std::size_t i = bytes.size() - 4; i < bytes.size(); ++i) {
    bytes[i] = std::byte{0xff};
  }
  LockHarness restored;
  EXPECT_EQ(restored.locks.deserialize(restored.shard, bytes, Tick{1}).code(),
            StatusCode::DataLoss);
}

// A damaged snapshot that is accepted all the same must still be a consistent state.
RC_GTEST_PROP(LockSnapshotProperty, DamagedBytesAreRefusedOrMakeAConsistentShard, ()) {
  LockHarness source;
  fill(source);
  auto bytes = source.locks.serialize(source.shard);
  const auto count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i) {
    const auto place = *rc::gen::inRange<std::size_t>(0, bytes.size());
    bytes[place] = static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
  }
  LockHarness restored;
  if (!restored.locks.deserialize(restored.shard, bytes, Tick{1}).ok()) {
    RC_ASSERT(restored.locks.usage().sessions == 0u);
    return;
  }
  // Damage may take away all that an older version cannot say; then that one is written, shorter.
  const auto again = restored.locks.serialize(restored.shard);
  RC_ASSERT(again == bytes || again.size() < bytes.size());
  LockHarness third;
  RC_ASSERT(third.locks.deserialize(third.shard, again, Tick{1}).ok());
  RC_ASSERT(third.locks.serialize(third.shard) == again);
  for (std::uint64_t session = 1; session <= 4; ++session) {
    restored.close(session);
  }
  restored.locks.drop(restored.shard);
  RC_ASSERT(restored.locks.usage().requests == 0u);
  RC_ASSERT(restored.locks.usage().waiters == 0u);
}

}  // namespace
}  // namespace gcoord::locks
