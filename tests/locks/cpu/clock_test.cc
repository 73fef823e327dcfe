// The session clock (sessions/clock.h) as LockCpu drives it.
#include "sessions/clock.h"

#include "tests/locks/lock_harness.h"

#include <gtest/gtest.h>

#include <array>

namespace gcoord::locks {
namespace {

// Ticks of 10 ms: a TTL of 1,000 ms is 100 ticks and one for the tick it was heard in.
constexpr std::uint64_t kTtlTicks = 101;
constexpr std::uint64_t kElectionTicks = 30;

TEST(SessionClockInLockCpu, L10KilledHolderIsExpiredThroughTheLogAndTheWaiterGetsTheLock) {
  LockHarness shard;
  shard.locks.on_became_leader(shard.shard, shard.now, kElectionTicks);
  shard.acquire(1, 1, "job");
  shard.now = Tick{150};
  shard.wait(2, 1, "job");
  std::array<sessions::ExpiryProposal, 4> due;
  ASSERT_EQ(shard.locks.clock().expired(Tick{100 + kTtlTicks}, due), 1u);
  EXPECT_EQ(due[0].session, SessionId{1});
  EXPECT_EQ(shard.apply(make_expire_session(due[0].session, due[0].serial)).code,
            LockCode::SessionExpired);
  EXPECT_EQ(shard.events.at(0).session, SessionId{2});
  EXPECT_EQ(shard.locks.clock().renew(SessionId{1}, Tick{202}).code, sessions::RenewCode::Lost);
  EXPECT_EQ(shard.locks.clock().renew(SessionId{2}, Tick{202}).code, sessions::RenewCode::Renewed);
}

TEST(SessionClockInLockCpu, HalfEndedSessionIsProposedAgainAtOnceAlsoByANewLeader) {
  LockHarness shard;
  shard.locks.on_became_leader(shard.shard, shard.now, kElectionTicks);
  for (std::uint64_t i = 1; i <= 2 * kReleasesPerCommandMax + 1; ++i) {
    shard.acquire(1, i, "job" + std::to_string(i), i);
  }
  EXPECT_TRUE(shard.expire(1).more);
  std::array<sessions::ExpiryProposal, 4> due;
  EXPECT_EQ(shard.locks.clock().expired(shard.now, due), 1u);
  EXPECT_TRUE(shard.expire(1).more);
  shard.locks.on_lost_leadership(shard.shard);
  EXPECT_EQ(shard.locks.clock().expired(shard.now, due), 0u);
  shard.locks.on_became_leader(shard.shard, shard.now, kElectionTicks);
  EXPECT_EQ(shard.locks.clock().expired(shard.now, due), 1u);
  EXPECT_FALSE(shard.expire(1).more);
  EXPECT_EQ(shard.locks.clock().registration_count(), 0u);
}

TEST(SessionClockInLockCpu, RestoredRegistrationsCountAsHeardNow) {
  LockHarness source;
  source.acquire(1, 1, "job");
  LockHarness shard;
  shard.locks.on_became_leader(shard.shard, Tick{0}, 0);
  ASSERT_TRUE(
      shard.locks.deserialize(shard.shard, source.locks.serialize(source.shard), Tick{5000}).ok());
  std::array<sessions::ExpiryProposal, 4> due;
  EXPECT_EQ(shard.locks.clock().expired(Tick{5000 + kTtlTicks - 1}, due), 0u);
  EXPECT_EQ(shard.locks.clock().expired(Tick{5000 + kTtlTicks}, due), 1u);
}

}  // namespace
}  // namespace gcoord::locks
