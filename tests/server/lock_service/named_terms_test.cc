// Acquires that name the term of the leader they are for, so that a late copy begins nothing
// (docs/adr/0088).
#include "protocol/lease_messages.h"
#include "server/lock_service/lock_service.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestFlag;
using protocol::RequestKind;

constexpr std::uint64_t kSession = protocol::kSessionIdChosenEnd + 5;

std::uint32_t number(ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

// One lock service that leads all shards; its memory is a process's.
struct NamedTermsBench : LockBench {
  explicit NamedTermsBench(std::uint64_t term) {
    engine.term = Term{term};
    lead_all();
  }

  std::uint64_t leads_in() const { return engine.term.value; }

  // The same bytes come again under another request id.
  std::uint64_t acquire_in(std::uint64_t term,
                           std::uint64_t session = kSession,
                           std::uint32_t wait_ms = 0) {
    protocol::RequestSlot slot = protocol::to_slot(protocol::LockAcquire{
        .caller = {SessionId{session}, RequestSequence{1}, RequestSequence{1}},
        .wait_ms = wait_ms,
        .ttl_ms = 200});
    slot.shard = shard_of_name("a").value;
    slot.set(RequestFlag::NamesTerm);
    slot.token = term;
    return send(slot, "a");
  }

  // The node's process and its memory are new, its disk has what was decided.
  void restart_with_state_of(const NamedTermsBench& before) {
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      std::vector<std::byte> state;
      before.service->serialize(ShardId{shard}, state);
      ASSERT_TRUE(service->install(ShardId{shard}, state).ok());
    }
  }

  void let_sessions_end() {
    for (int i = 0; i < 40; ++i) {
      pass_ms(10);
      decide();
    }
    ASSERT_EQ(service->locks().usage().sessions, 0u);
  }
};

TEST(NamedTermsTest, AnAcquireThatNamesTheLeadersTermIsTaken) {
  NamedTermsBench bench{3};
  const auto granted = bench.decided(bench.acquire_in(bench.leads_in()));
  EXPECT_EQ(granted.slot.code, StatusCode::Ok);
  EXPECT_EQ(granted.slot.epoch, bench.leads_in());
}

TEST(NamedTermsTest, AnotherTermIsRefusedWithTheOneToName) {
  NamedTermsBench bench{3};
  for (const std::uint64_t other : {std::uint64_t{0}, bench.leads_in() - 1, bench.leads_in() + 1}) {
    const auto refused = bench.sink.take(bench.acquire_in(other));
    EXPECT_EQ(refused.slot.detail, number(ErrorCode::TermStale)) << other;
    EXPECT_EQ(refused.slot.epoch, bench.leads_in()) << other;
  }
  EXPECT_TRUE(bench.engine.proposals.empty());
  const auto count_of = [&](const char* name) {
    return bench.metrics.counter({name, "", "", ""}).value();
  };
  EXPECT_EQ(count_of("gcoord_server_terms_stale_total"), 3u);
  EXPECT_EQ(count_of("gcoord_server_requests_refused_total"), 0u) << "nothing is wrong with them";
  const auto again = bench.decided(bench.acquire_in(bench.leads_in()));
  EXPECT_EQ(again.slot.code, StatusCode::Ok) << "under the same sequence";
}

// The hole of a memory that is one process's: docs/reference/services.md, "A late copy of an
// acquire".
TEST(NamedTermsTest, ALateCopyAfterARestartHoldsNothing) {
  NamedTermsBench before{3};
  before.decided(before.acquire_in(before.leads_in()));
  before.let_sessions_end();
  NamedTermsBench after{9};
  after.restart_with_state_of(before);
  const auto late = after.acquire_in(before.leads_in());
  EXPECT_TRUE(after.engine.proposals.empty());
  EXPECT_EQ(after.sink.take(late).slot.detail, number(ErrorCode::TermStale));
  EXPECT_EQ(after.service->locks().usage().sessions, 0u);
}

// Of a client of before, which names no term, the bound is its TTL.
TEST(NamedTermsTest, ALateCopyOfAnOlderClientHoldsItsLockForAtMostItsTtl) {
  NamedTermsBench before{3};
  before.decided(before.acquire(kSession, 1, "a", 0, 200));
  before.let_sessions_end();
  NamedTermsBench after{9};
  after.restart_with_state_of(before);
  EXPECT_EQ(after.decided(after.acquire(kSession, 1, "a", 0, 200)).slot.code, StatusCode::Ok);
  EXPECT_EQ(after.service->locks().usage().locks, 1u);
  after.let_sessions_end();
  EXPECT_EQ(after.service->locks().usage().locks, 0u);
}

TEST(NamedTermsTest, ALateCopyInTheSameTermFindsTheMemory) {
  NamedTermsBench bench{3};
  bench.decided(bench.acquire_in(bench.leads_in()));
  bench.let_sessions_end();
  const auto late = bench.acquire_in(bench.leads_in());
  EXPECT_EQ(bench.sink.take(late).slot.detail, number(ErrorCode::SessionExpired));
  EXPECT_TRUE(bench.engine.proposals.empty());
}

// A retry is another term's, and the same request all the same.
TEST(NamedTermsTest, ARetryAtTheNextLeaderGetsTheReplyThatWasStored) {
  NamedTermsBench before{3};
  const auto granted = before.decided(before.acquire_in(before.leads_in()));
  NamedTermsBench after{9};
  after.restart_with_state_of(before);
  const auto stale = after.sink.take(after.acquire_in(before.leads_in()));
  ASSERT_EQ(stale.slot.detail, number(ErrorCode::TermStale));
  const auto retried = after.decided(after.acquire_in(stale.slot.epoch));
  EXPECT_EQ(retried.slot.code, StatusCode::Ok);
  EXPECT_EQ(retried.slot.token, granted.slot.token);
}

// Else each of thousands of waits would be sent twice after a change of leaders.
TEST(NamedTermsTest, AWaitThatStandsInLineNeedsNoTerm) {
  NamedTermsBench bench{3};
  bench.decided(bench.acquire_in(bench.leads_in()));
  bench.acquire_in(bench.leads_in(), kSession + 1, protocol::kForeverMs);
  bench.decide();
  bench.acquire_in(1, kSession + 1, protocol::kForeverMs);
  EXPECT_TRUE(bench.engine.proposals.empty());
  EXPECT_EQ(bench.service->wait_count(), 1u);
}

TEST(NamedTermsTest, ARedirectNamesTheTermOfTheLeaderToo) {
  NamedTermsBench bench{3};
  bench.engine.follow(*bench.service, LockBench::shard_of_name("a"), NodeId{2});
  const auto elsewhere = bench.sink.take(bench.acquire_in(1));
  EXPECT_EQ(elsewhere.slot.detail, number(ErrorCode::NotLeader));
  EXPECT_EQ(elsewhere.slot.leader, 2u);
  EXPECT_EQ(elsewhere.slot.epoch, bench.leads_in());
  bench.engine.other_leader = NodeId{};
  const auto nobody = bench.sink.take(bench.acquire_in(1));
  EXPECT_EQ(nobody.slot.detail, number(ErrorCode::NoLeader));
  EXPECT_EQ(nobody.slot.epoch, 0u);
}

TEST(NamedTermsTest, AGrantOfASessionNamesATermLikeAnAcquire) {
  NamedTermsBench bench{3};
  const auto grant_in = [&](std::uint64_t term) {
    protocol::RequestSlot slot = bench.slot(RequestKind::SessionGrant);
    slot.session = kSession;
    slot.shard = protocol::home_shard(SessionId{kSession}, 4).value;
    slot.ttl_ms = 1000;
    slot.set(RequestFlag::NamesTerm);
    slot.token = term;
    return bench.send(slot, "");
  };
  EXPECT_EQ(bench.sink.take(grant_in(1)).slot.detail, number(ErrorCode::TermStale));
  EXPECT_EQ(bench.decided(grant_in(bench.leads_in())).slot.code, StatusCode::Ok);
}

// The token of a release stays what it is.
TEST(NamedTermsTest, OtherRequestsNameNoTermWhateverTheirFlags) {
  NamedTermsBench bench{3};
  const auto granted = bench.decided(bench.acquire_in(bench.leads_in()));
  protocol::RequestSlot slot = protocol::to_slot(
      protocol::LockRelease{.caller = {SessionId{kSession}, RequestSequence{2}, RequestSequence{1}},
                            .token = FencingToken{granted.slot.token}});
  slot.shard = LockBench::shard_of_name("a").value;
  slot.set(RequestFlag::NamesTerm);
  EXPECT_EQ(bench.decided(bench.send(slot, "a")).slot.code, StatusCode::Ok);
}

}  // namespace
}  // namespace gcoord::server
