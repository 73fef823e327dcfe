// What a node's replicas know of a session: its locks, and by which TTL each shard has it.
#include "server/limits/session_load.h"

#include "tests/locks/lock_harness.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::server {
namespace {

constexpr SessionId kSession{1};

locks::LockReply acquire(locks::LockHarness& shard, std::uint64_t session, std::uint32_t ttl_ms) {
  return shard.apply(locks::make_acquire({.session = SessionId{session},
                                          .sequence = RequestSequence{1},
                                          .acked_below = RequestSequence{1},
                                          .name = "job" + std::to_string(session),
                                          .wait = false,
                                          .ttl_ms = ttl_ms}));
}

TEST(SessionLoad, EachShardHasASessionByATtlOfItsOwn) {
  locks::LockHarness shard;
  for (std::uint32_t k = 1; k < 4; ++k) {
    shard.shard = ShardId{k};
    acquire(shard, kSession.value, 1'000 * k);
    acquire(shard, 2, 50'000);
  }
  EXPECT_EQ(session_ttl_ms(shard.locks, kSession, ShardId{0}), 0u);
  for (std::uint32_t k = 1; k < 4; ++k) {
    EXPECT_EQ(session_ttl_ms(shard.locks, kSession, ShardId{k}), 1'000 * k);
    EXPECT_EQ(session_ttl_ms(shard.locks, SessionId{2}, ShardId{k}), 50'000u);
  }
  EXPECT_EQ(session_ttl_ms(shard.locks, SessionId{3}, ShardId{1}), 0u);
  EXPECT_EQ(session_load(shard.locks, kSession).locks, 3u);
}

TEST(SessionLoad, AShardDoesNotHaveASessionThatEnds) {
  locks::LockHarness shard;
  for (std::uint64_t k = 1; k <= locks::kReleasesPerCommandMax + 1; ++k) {
    shard.acquire(kSession.value, k, "job" + std::to_string(k), k);
  }
  EXPECT_EQ(session_ttl_ms(shard.locks, kSession, shard.shard), locks::LockHarness::kTtlMs);
  EXPECT_TRUE(shard.expire(kSession.value).more);
  EXPECT_EQ(session_ttl_ms(shard.locks, kSession, shard.shard), 0u);
  EXPECT_FALSE(shard.expire(kSession.value).more);
  EXPECT_EQ(session_ttl_ms(shard.locks, kSession, shard.shard), 0u);
}

}  // namespace
}  // namespace gcoord::server
