// Copies of requests that arrive when what they began is over, at a leader that has led since they
// were sent (docs/adr/0088); named_terms_test.cc has those that arrive after a change of leaders.
#include "common/name_hash.h"
#include "protocol/lease_messages.h"
#include "protocol/move_messages.h"
#include "server/lock_service/lock_service.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

constexpr std::uint64_t kSession = protocol::kSessionIdChosenEnd + 5;
constexpr std::uint32_t kTtlMs = 10'000;

std::uint32_t number(ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

struct LateCopiesBench : LockBench {
  LateCopiesBench() { lead_all(); }

  std::uint64_t grant(std::uint64_t session) {
    protocol::RequestSlot slot = this->slot(RequestKind::SessionGrant);
    slot.session = session;
    slot.shard = protocol::home_shard(SessionId{session}, 4).value;
    slot.ttl_ms = kTtlMs;
    return send(slot, "");
  }

  std::uint64_t close(std::uint64_t session) {
    protocol::RequestSlot slot = this->slot(RequestKind::CloseSession);
    slot.session = session;
    slot.shard = protocol::kAllShards;
    return send(slot, "");
  }

  std::uint64_t cancel(std::uint64_t session, std::uint64_t sequence) {
    protocol::RequestSlot slot = this->slot(RequestKind::LockCancel);
    slot.session = session;
    slot.sequence = sequence;
    slot.acked_below = 1;
    slot.shard = shard_of_name("a").value;
    return send(slot, "a");
  }

  // Until the end of a silent session is proposed, and not decided.
  void let_end_be_proposed() {
    for (std::uint32_t ms = 0; ms < 2 * kTtlMs && engine.proposals.empty(); ms += 10) {
      pass_ms(10);
    }
    ASSERT_EQ(engine.proposals.size(), 1u);
  }

  std::uint64_t session_count() const { return service->locks().usage().sessions; }
};

TEST(LateCopiesTest, AGrantOfAClosedSessionIsRefused) {
  LateCopiesBench bench;
  ASSERT_EQ(bench.decided(bench.grant(kSession)).slot.code, StatusCode::Ok);
  ASSERT_EQ(bench.decided(bench.close(kSession)).slot.code, StatusCode::Ok);
  ASSERT_EQ(bench.session_count(), 0u);
  const auto late = bench.grant(kSession);
  EXPECT_TRUE(bench.engine.proposals.empty());
  EXPECT_EQ(bench.decided(late).slot.detail, number(ErrorCode::SessionClosed));
  EXPECT_EQ(bench.session_count(), 0u);
}

TEST(LateCopiesTest, AGrantOfASessionThatRanOutIsRefused) {
  LateCopiesBench bench;
  ASSERT_EQ(bench.decided(bench.grant(kSession)).slot.code, StatusCode::Ok);
  bench.let_end_be_proposed();
  bench.decide();
  ASSERT_EQ(bench.session_count(), 0u);
  EXPECT_EQ(bench.decided(bench.grant(kSession)).slot.detail, number(ErrorCode::SessionExpired));
  EXPECT_EQ(bench.session_count(), 0u);
}

TEST(LateCopiesTest, AChosenIdIsGrantedAgain) {
  LateCopiesBench bench;
  ASSERT_EQ(bench.decided(bench.grant(5)).slot.code, StatusCode::Ok);
  ASSERT_EQ(bench.decided(bench.close(5)).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench.decided(bench.grant(5)).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench.session_count(), 1u);
}

// The door does not know of the end before it is applied; the log has the copy behind the end.
TEST(LateCopiesTest, AnAcquireThatMeetsTheEndOnItsWayIsEndedAtOnce) {
  LateCopiesBench bench;
  bench.decided(bench.acquire(kSession, 1, "a", 0, kTtlMs));
  bench.let_end_be_proposed();
  bench.acquire(kSession, 1, "a", 0, kTtlMs);
  ASSERT_EQ(bench.engine.proposals.size(), 2u);
  bench.decide();
  EXPECT_EQ(bench.session_count(), 1u);
  for (std::uint64_t tick = 0; tick < kEndTicksMax; ++tick) {
    bench.pass_ms(10);
    bench.decide();
  }
  EXPECT_EQ(bench.session_count(), 0u) << "not a TTL later";
  EXPECT_EQ(bench.service->locks().usage().locks, 0u);
}

TEST(LateCopiesTest, AChosenIdThatComesAgainLivesForItsTtl) {
  LateCopiesBench bench;
  bench.decided(bench.acquire(5, 1, "a", 0, kTtlMs));
  bench.let_end_be_proposed();
  bench.decide();
  ASSERT_EQ(bench.session_count(), 0u);
  bench.decided(bench.acquire(5, 1, "a", 0, kTtlMs));
  bench.pass_ms(kTtlMs - 100);
  bench.decide();
  EXPECT_EQ(bench.session_count(), 1u);
}

TEST(LateCopiesTest, AnAcquireThatComesBehindItsCancelIsRefused) {
  LateCopiesBench bench;
  ASSERT_EQ(bench.decided(bench.cancel(kSession, 1)).slot.code, StatusCode::Ok) << "holds nothing";
  const auto late = bench.acquire(kSession, 1, "a", 0, kTtlMs);
  EXPECT_EQ(bench.decided(late).slot.detail, number(ErrorCode::WaitCancelled));
  EXPECT_EQ(bench.service->locks().usage().locks, 0u);
  EXPECT_EQ(bench.decided(bench.acquire(kSession, 2, "a", 0, kTtlMs)).slot.code, StatusCode::Ok);
}

TEST(LateCopiesTest, ACancelOfWhatWasGrantedChangesNothing) {
  LateCopiesBench bench;
  const auto granted = bench.decided(bench.acquire(kSession, 1, "a", 0, kTtlMs));
  EXPECT_EQ(bench.decided(bench.cancel(kSession, 1)).slot.detail,
            number(ErrorCode::AcquireGranted));
  const auto again = bench.decided(bench.acquire(kSession, 1, "a", 0, kTtlMs));
  EXPECT_EQ(again.slot.code, StatusCode::Ok);
  EXPECT_EQ(again.slot.token, granted.slot.token);
}

// A node that remembers the end of a session must not take the next one of its id for it.
TEST(LateCopiesTest, AChosenIdThatComesAgainKeepsItsLockWhenThatMoves) {
  LateCopiesBench bench;
  const ShardId home = LockBench::shard_of_name("a");
  const ShardId other{(home.value + 1) % 4};
  bench.pass_ms(2 * kTtlMs);
  bench.decided(bench.acquire(5, 1, "a", 0, kTtlMs));
  bench.decided(bench.close(5));
  const auto held = bench.decided(bench.acquire(5, 1, "a", 0, kTtlMs));
  ASSERT_EQ(held.slot.code, StatusCode::Ok);
  protocol::RequestSlot move = bench.slot(RequestKind::LockMove);
  move.shard = home.value;
  const auto moved = bench.send(move, protocol::encode_move({other, "a"}));
  for (int tick = 0; tick < 50; ++tick) {
    bench.pass_ms(10);
    bench.decide();
  }
  ASSERT_EQ(bench.sink.take(moved).slot.code, StatusCode::Ok);
  const auto lock = bench.service->locks().get(other, hash_name("a"));
  ASSERT_TRUE(lock.has_value()) << "the session lives";
  EXPECT_EQ(lock->token.value, held.slot.token);
}

}  // namespace
}  // namespace gcoord::server
