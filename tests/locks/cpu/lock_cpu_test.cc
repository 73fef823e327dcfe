// What LockCpu adds to the pure step: growth, admission, reads, and the price of an idle shard.
#include "locks/cpu/lock_cpu.h"

#include "tests/locks/lock_harness.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace gcoord::locks {
namespace {

LockCommand acquire_of(std::uint64_t session, std::string_view name, bool wait) {
  return make_acquire({.session = SessionId{session},
                       .sequence = RequestSequence{99},
                       .name = name,
                       .wait = wait,
                       .ttl_ms = 1000});
}

TEST(LockCpu, AMillionIdleShardsCostFortyBytesEach) {
  const LockCpu locks{{.shard_count = 1u << 20, .rows_initial = 1}};
  EXPECT_LT(locks.usage().memory_bytes, (std::uint64_t{1} << 20) * 41);
}

TEST(LockCpu, LeaderIsToldWhichCapACommandWouldExceed) {
  LockHarness shard{{.shard_count = 4,
                     .rows_initial = 1,
                     .limits = {.locks_max = 2, .waiters_max = 1, .sessions_max = 3}}};
  shard.acquire(1, 1, "a");
  shard.acquire(1, 2, "b");
  const auto limit = [&](const LockCommand& command) {
    return shard.locks.would_exceed(shard.shard, command);
  };
  EXPECT_EQ(limit(acquire_of(1, "c", false)), LockLimit::Locks);
  EXPECT_EQ(limit(acquire_of(2, "a", true)), LockLimit::None);
  shard.wait(2, 1, "a");
  EXPECT_EQ(limit(acquire_of(3, "a", true)), LockLimit::Waiters);
  EXPECT_EQ(limit(acquire_of(3, "a", false)), LockLimit::None);
  shard.acquire(3, 1, "a");
  EXPECT_EQ(limit(acquire_of(4, "a", false)), LockLimit::Sessions);
  EXPECT_EQ(limit(acquire_of(3, "a", false)), LockLimit::None);
  EXPECT_EQ(limit(make_register_session(SessionId{4}, 10)), LockLimit::Sessions);
  EXPECT_EQ(limit(make_close_session(SessionId{4}, RequestSequence{1})), LockLimit::None);
}

// A resend that was told "too many waiters" gave up although it stood in the queue.
TEST(LockCpu, ARequestThatIsRememberedExceedsNoCap) {
  LockHarness shard{
      {.shard_count = 4, .rows_initial = 1, .limits = {.waiters_max = 1, .requests_max = 2}}};
  const auto limit = [&](std::uint64_t session, std::uint64_t sequence, std::string_view name) {
    return shard.locks.would_exceed(shard.shard,
                                    make_acquire({.session = SessionId{session},
                                                  .sequence = RequestSequence{sequence},
                                                  .name = name,
                                                  .wait = true,
                                                  .ttl_ms = 1000}));
  };
  shard.acquire(1, 1, "a");
  shard.wait(2, 1, "a");
  EXPECT_EQ(limit(2, 1, "a"), LockLimit::None);
  EXPECT_EQ(limit(2, 2, "a"), LockLimit::Waiters);
  EXPECT_EQ(limit(2, 2, "b"), LockLimit::Requests);
  EXPECT_EQ(limit(1, 1, "b"), LockLimit::None);
}

TEST(LockCpu, GetTellsHolderTokenAndWhenItWasGranted) {
  LockHarness shard;
  shard.acquire(9, 1, "other");
  const FencingToken token = shard.acquire(1, 1, "jobs/train").token;
  shard.wait(2, 1, "jobs/train");
  const auto held = shard.locks.get(shard.shard, hash_name("jobs/train"));
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(held->name, "jobs/train");
  EXPECT_EQ(held->holder, SessionId{1});
  EXPECT_EQ(held->token, token);
  EXPECT_EQ(held->granted_at, LogIndex{2});
  EXPECT_EQ(held->waiter_count, 1u);
  EXPECT_EQ(held->holder_ttl_ms, LockHarness::kTtlMs);
  EXPECT_FALSE(shard.locks.get(ShardId{1}, hash_name("jobs/train")).has_value());
}

TEST(LockCpu, AWalkOverTheRowsMeetsEveryHeldLockAndNoFreeOne) {
  LockHarness shard;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    shard.acquire(1 + i % 3, i, "lock" + std::to_string(i), i);
  }
  shard.release(
      1 + 7 % 3, 21, "lock7", shard.locks.get(shard.shard, hash_name("lock7"))->token, 21);
  std::multiset<std::string> names;
  for (LockRow row{1}; row <= shard.locks.row_last(); ++row) {
    if (const auto lock = shard.locks.held(row, [](ShardId) { return true; })) {
      EXPECT_EQ(lock->shard, shard.shard);
      names.insert(lock->name);
    }
    EXPECT_FALSE(shard.locks.held(row, [](ShardId) { return false; }).has_value());
  }
  EXPECT_EQ(names.size(), 19u);
  EXPECT_FALSE(names.contains("lock7"));
  shard.locks.drop(shard.shard);
  for (LockRow row{1}; row <= shard.locks.row_last(); ++row) {
    EXPECT_FALSE(shard.locks.held(row, [](ShardId) { return true; }).has_value());
  }
}

TEST(LockCpu, NamesOfEveryLengthComeBackWhole) {
  LockHarness shard;
  for (std::uint32_t bytes = 1; bytes <= kNameBytesMax; bytes += bytes < 90 ? 1 : 67) {
    std::string name(bytes, 'a');
    name.back() = 'z';
    shard.acquire(1, bytes, name, bytes);
    EXPECT_EQ(shard.locks.get(shard.shard, hash_name(name))->name, name);
  }
  shard.acquire(1, 2000, std::string(kNameBytesMax, 'q'), 2000);
  shard.expire(1);
  shard.expire(1);
  EXPECT_EQ(shard.locks.usage().name_blocks, 0u);
}

TEST(LockCpu, PoolsGrowWhileLocksAreHeldAndQueued) {
  LockHarness shard;
  constexpr std::uint64_t kCount = 20'000;
  for (std::uint64_t i = 1; i <= kCount; ++i) {
    ASSERT_EQ(shard.acquire(i, 1, "job" + std::to_string(i)).code, LockCode::Granted);
  }
  for (std::uint64_t i = 1; i <= kCount; i += 97) {
    EXPECT_EQ(shard.check("job" + std::to_string(i), FencingToken{i}), TokenVerdict::Valid);
  }
  for (std::uint64_t i = 1; i <= kCount; ++i) {
    ASSERT_EQ(shard.close(i).code, LockCode::SessionClosed);
  }
  EXPECT_EQ(shard.locks.usage().locks, 0u);
}

TEST(LockCpu, DroppingAShardLeavesTheOthersAlone) {
  LockHarness shard;
  shard.acquire(1, 1, "job");
  shard.wait(2, 1, "job");
  shard.shard = ShardId{1};
  shard.acquire(1, 1, "job");
  shard.wait(3, 1, "job");
  shard.locks.drop(ShardId{0});
  EXPECT_EQ(shard.locks.usage().locks, 1u);
  EXPECT_EQ(shard.locks.usage().waiters, 1u);
  EXPECT_EQ(shard.locks.usage().sessions, 2u);
  EXPECT_EQ(shard.locks.state_hash(ShardId{0}), 0u);
  EXPECT_EQ(shard.release(1, 2, "job", FencingToken{1}).code, LockCode::Released);
  EXPECT_EQ(shard.events.at(0).session, SessionId{3});
}

}  // namespace
}  // namespace gcoord::locks
