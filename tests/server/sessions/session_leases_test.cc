// Sessions as leases: granted, shown, listed, limited.
#include "protocol/force_messages.h"
#include "protocol/lease_messages.h"
#include "protocol/session_messages.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

std::uint32_t number(ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

protocol::RequestSlot session_slot(RequestKind kind,
                                   std::uint64_t session,
                                   std::uint32_t ttl_ms = 0) {
  protocol::RequestSlot slot;
  slot.kind = kind;
  slot.session = session;
  slot.ttl_ms = ttl_ms;
  slot.shard = protocol::home_shard(SessionId{session}, 4).value;
  return slot;
}

KeptReply grant(LockBench& bench, std::uint64_t session, std::uint32_t ttl_ms) {
  const auto id = bench.send(session_slot(RequestKind::SessionGrant, session, ttl_ms), "");
  bench.decide();
  return bench.sink.take(id);
}

protocol::SessionDetails show(LockBench& bench, std::uint64_t session) {
  const auto id = bench.send(session_slot(RequestKind::SessionShow, session), "");
  bench.engine.confirm_reads(*bench.service);
  const auto details = protocol::decode_session(bench.sink.take(id).payload);
  EXPECT_TRUE(details.ok());
  return details.ok() ? details.value() : protocol::SessionDetails{};
}

protocol::SessionPage list(LockBench& bench, const protocol::SessionQuery& query) {
  protocol::RequestSlot slot;
  slot.kind = RequestKind::SessionList;
  const auto id = bench.send(slot, protocol::encode_session_query(query));
  const auto page = protocol::decode_session_page(bench.sink.take(id).payload);
  EXPECT_TRUE(page.ok());
  return page.ok() ? page.value() : protocol::SessionPage{};
}

TEST(SessionLeasesTest, S1AChosenIdIsGrantedOnceAndADuplicateHasACodeOfItsOwn) {
  LockBench bench;
  bench.lead_all();
  const auto granted = grant(bench, 4711, 5000);
  EXPECT_EQ(granted.slot.code, StatusCode::Ok);
  EXPECT_EQ(granted.slot.extra, 4711u);
  EXPECT_EQ(granted.slot.ttl_ms, 5000u);
  EXPECT_EQ(grant(bench, 4711, 5000).slot.detail, number(ErrorCode::SessionExists));
}

TEST(SessionLeasesTest, S1ANodesOwnIdMayBeGrantedAgainByWhoMissedTheAnswer) {
  LockBench bench;
  bench.lead_all();
  const std::uint64_t own = protocol::kSessionIdChosenEnd + 7;
  EXPECT_EQ(grant(bench, own, 5000).slot.code, StatusCode::Ok);
  EXPECT_EQ(grant(bench, own, 5000).slot.code, StatusCode::Ok);
}

TEST(SessionLeasesTest, S1ATtlOutOfRangeHasACodeOfItsOwn) {
  LockBench bench;
  bench.lead_all();
  EXPECT_EQ(grant(bench, 1, 99).slot.detail, number(ErrorCode::TtlTooShort));
  EXPECT_EQ(grant(bench, 1, 60'001).slot.detail, number(ErrorCode::TtlTooLong));
  EXPECT_EQ(grant(bench, 0, 5000).slot.detail, number(ErrorCode::SessionZero));
}

TEST(SessionLeasesTest, S1AnIdIsFreeAgainWhenItsSessionIsGone) {
  LockBench bench;
  bench.lead_all();
  grant(bench, 4711, 1000);
  bench.pass_ms(1100);
  bench.decide();  // The expiry.
  EXPECT_EQ(grant(bench, 4711, 1000).slot.code, StatusCode::Ok);
}

TEST(SessionLeasesTest, S2AKeepAliveOfAnExpiredSessionIsAnAnswerAndNoError) {
  LockBench bench;
  bench.lead_all();
  grant(bench, 4711, 1000);
  const auto renew = [&] {
    const SessionId sessions[] = {SessionId{4711}};
    const auto id =
        bench.send(bench.slot(RequestKind::KeepAlive), protocol::encode_keep_alive(sessions));
    const auto reply = bench.sink.take(id);
    EXPECT_EQ(reply.slot.code, StatusCode::Ok);
    return protocol::decode_keep_alive_reply(reply.payload).value();
  };
  bench.pass_ms(900);
  EXPECT_TRUE(renew().empty());  // Renewed is the rule and is not said.
  bench.pass_ms(900);
  EXPECT_EQ(show(bench, 4711).row.registration_count, 1u);
  bench.pass_ms(1100);
  bench.decide();
  ASSERT_EQ(renew().size(), 1u);
  EXPECT_EQ(renew()[0].state, protocol::KeepAliveState::Expired);
  EXPECT_EQ(show(bench, 4711).row.remaining_ms, 0u);
}

// More than are asked for ahead (renew_ahead.h), in no order, some twice and one that nobody knows.
TEST(SessionLeasesTest, S3OneKeepAliveRenewsManyInAnyOrderAndNamesWhoIsMissed) {
  constexpr std::uint64_t kSessions = 300;
  LockBench bench;
  bench.lead_all();
  for (std::uint64_t session = 1; session <= kSessions; ++session) {
    bench.acquire(session, 1, "job/" + std::to_string(session), 0, 1000);
  }
  bench.decide();
  std::vector<SessionId> asked = {SessionId{77'777}, SessionId{5}};
  for (std::uint64_t session = kSessions; session > 1; --session) {
    asked.push_back(SessionId{session});
  }
  for (int k = 0; k < 4; ++k) {
    bench.pass_ms(300);
    const auto reply = bench.sink.take(
        bench.send(bench.slot(RequestKind::KeepAlive), protocol::encode_keep_alive(asked)));
    const auto missed = protocol::decode_keep_alive_reply(reply.payload).value();
    ASSERT_EQ(missed.size(), 1u);
    EXPECT_EQ(missed[0].session.value, 77'777u);
  }
  bench.decide();
  EXPECT_EQ(bench.service->locks().usage().sessions, kSessions - 1);  // The first was not named.
}

TEST(SessionLeasesTest, S5ShowSaysWhatIsLeftWhatWasGrantedAndWhatIsAttached) {
  LockBench bench;
  bench.lead_all();
  grant(bench, 4711, 5000);
  bench.decided(bench.acquire(4711, 1, "job/a", 0, 5000));
  bench.decided(bench.acquire(4711, 2, "job/b", 0, 5000));
  bench.pass_ms(1000);
  const auto details = show(bench, 4711);
  EXPECT_TRUE(details.row.granted);
  EXPECT_EQ(details.row.ttl_ms, 5000u);
  EXPECT_LE(details.row.remaining_ms, 4020u);
  EXPECT_GE(details.row.remaining_ms, 3900u);
  EXPECT_EQ(details.row.lock_count, details.keys.size());
  EXPECT_EQ(details.keys, (std::vector<std::string>{"job/a", "job/b"}));
}

TEST(SessionLeasesTest, S5OfASessionThatIsGoneNothingIsLeft) {
  LockBench bench;
  bench.lead_all();
  EXPECT_EQ(show(bench, 99).row.registration_count, 0u);
  // And who does not lead its home does not say so.
  LockBench follower{{NodeId{1}, NodeId{2}}, NodeId{2}};
  follower.engine.other_leader = NodeId{1};
  const auto id = follower.send(session_slot(RequestKind::SessionShow, 99), "");
  EXPECT_EQ(follower.sink.take(id).slot.detail, number(ErrorCode::NotLeader));
}

TEST(SessionLeasesTest, S5TheHomeOfASessionIsChecked) {
  LockBench bench;
  bench.lead_all();
  protocol::RequestSlot slot = session_slot(RequestKind::SessionShow, 99);
  slot.shard = (slot.shard + 1) % 4;
  EXPECT_EQ(bench.sink.take(bench.send(slot, "")).slot.detail, number(ErrorCode::SessionElsewhere));
}

TEST(SessionLeasesTest, S6EverySessionIsListedOnceByPagesAndByFilters) {
  LockBench bench;
  bench.lead_all();
  for (std::uint64_t session = 1; session <= 30; ++session) {
    grant(bench, session, 5000);
  }
  for (std::uint64_t session = 1; session <= 5; ++session) {
    bench.decided(bench.acquire(session, 1, "job/" + std::to_string(session), 0, 5000));
  }
  bench.decided(bench.acquire(100, 1, "plain", 0, 5000));  // Without a home.
  std::multiset<std::uint64_t> seen;
  protocol::SessionQuery query{.limit = 7};
  do {
    const auto page = list(bench, query);
    EXPECT_LE(page.rows.size(), 7u);
    EXPECT_EQ(page.count, page.rows.size());
    for (const protocol::SessionRow& row : page.rows) {
      seen.insert(row.session.value);
    }
    query.cursor = page.next_cursor;
  } while (query.cursor != 0);
  EXPECT_EQ(seen.size(), 31u);
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 31u);
  EXPECT_EQ(list(bench, {.filter = protocol::SessionFilter::Holding}).count, 6u);
  EXPECT_EQ(list(bench, {.filter = protocol::SessionFilter::Idle}).count, 25u);
  EXPECT_EQ(list(bench, {.remaining_below_ms = 1000}).count, 0u);
  const auto counted = list(bench, {.count_only = true});
  EXPECT_EQ(counted.count, 31u);
  EXPECT_TRUE(counted.rows.empty());
}

TEST(SessionLeasesTest, S6AListLooksAtABoundedNumberOfRowsPerTick) {
  LockBench bench;
  bench.lead_all();
  for (std::uint64_t session = 1; session <= kSessionRowsLookedAt + 10; ++session) {
    bench.send(session_slot(RequestKind::SessionGrant, session, 60'000), "");
  }
  bench.decide();
  bench.sink.replies.clear();
  const auto first = list(bench, {.count_only = true});
  EXPECT_EQ(first.count, kSessionRowsLookedAt);
  const auto rest = list(bench, {.count_only = true, .cursor = first.next_cursor});
  EXPECT_EQ(first.count + rest.count, kSessionRowsLookedAt + 10);
  EXPECT_EQ(rest.next_cursor, 0u);
  list(bench, {.count_only = true});
  protocol::RequestSlot slot;
  slot.kind = RequestKind::SessionList;
  const auto id = bench.send(slot, protocol::encode_session_query({.count_only = true}));
  EXPECT_EQ(bench.sink.take(id).slot.detail, number(ErrorCode::Overloaded));
}

TEST(SessionLeasesTest, S12ASessionGetsAsManyLocksAsItsQuotaAndNoMore) {
  LockBench bench{{NodeId{1}}, NodeId{1}, 3};
  bench.lead_all();
  // All at once, before any is decided, over all shards: the quota counts what is on its way.
  std::vector<std::uint64_t> asked;
  for (std::uint64_t i = 0; i < 8; ++i) {
    asked.push_back(bench.acquire(5, i + 1, "job/" + std::to_string(i), 0, 5000));
  }
  bench.decide();
  std::size_t granted = 0;
  std::uint64_t token = 0;
  for (const std::uint64_t id : asked) {
    const auto reply = bench.sink.take(id);
    if (reply.slot.code == StatusCode::Ok) {
      ++granted;
      token = token == 0 ? reply.slot.token : token;
    } else {
      EXPECT_EQ(reply.slot.detail, number(ErrorCode::SessionLocksExhausted));
    }
  }
  EXPECT_EQ(granted, 3u);
  // Others are not concerned, and a release makes room.
  EXPECT_EQ(bench.decided(bench.acquire(6, 1, "other", 0, 5000)).slot.code, StatusCode::Ok);
  bench.decided(bench.release(5, 20, "job/0", token));
  EXPECT_EQ(bench.decided(bench.acquire(5, 21, "more", 0, 5000)).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench.sink.take(bench.acquire(5, 22, "again", 0, 5000)).slot.detail,
            number(ErrorCode::SessionLocksExhausted));
}

TEST(SessionLeasesTest, S12WaitsCountToo) {
  LockBench bench{{NodeId{1}}, NodeId{1}, 1};
  bench.lead_all();
  bench.decided(bench.acquire(5, 1, "a", 0, 5000));
  bench.acquire(6, 1, "a", protocol::kForeverMs, 5000);
  bench.decide();
  EXPECT_EQ(bench.sink.take(bench.acquire(6, 2, "b", 0, 5000)).slot.detail,
            number(ErrorCode::SessionLocksExhausted));
}

void break_lock(LockBench& bench, std::string_view name, std::uint64_t token) {
  protocol::RequestSlot slot = bench.slot(RequestKind::LockBreak);
  slot.shard = LockBench::shard_of_name(name).value;
  slot.token = token;
  const auto id =
      bench.send(slot, protocol::encode_break({.name = name, .who = "ann", .reason = "it hangs"}));
  EXPECT_EQ(bench.decided(id).slot.code, StatusCode::Ok);
}

TEST(SessionLeasesTest, S5ShowAfterABreakNamesWhatIsLeftAndNotWhatWasLost) {
  LockBench bench;
  bench.lead_all();
  grant(bench, 4711, 5000);
  const auto lost = bench.decided(bench.acquire(4711, 1, "job/a", 0, 5000));
  bench.decided(bench.acquire(4711, 2, "job/b", 0, 5000));
  break_lock(bench, "job/a", lost.slot.token);
  const auto details = show(bench, 4711);
  EXPECT_EQ(details.keys, std::vector<std::string>{"job/b"});
  EXPECT_EQ(details.row.lock_count, 1u);
  EXPECT_GT(details.row.remaining_ms, 0u);
  EXPECT_EQ(list(bench, {.filter = protocol::SessionFilter::Holding}).count, 1u);
  bench.decided(bench.release(4711, 3, "job/a", lost.slot.token));  // It is told; nothing changes.
  EXPECT_EQ(show(bench, 4711).row.lock_count, 1u);
}

TEST(SessionLeasesTest, S12WhatWasBrokenIsNotPartOfTheQuota) {
  LockBench bench{{NodeId{1}}, NodeId{1}, 1};
  bench.lead_all();
  const auto lost = bench.decided(bench.acquire(5, 1, "job/a", 0, 5000));
  break_lock(bench, "job/a", lost.slot.token);
  EXPECT_EQ(bench.decided(bench.acquire(5, 2, "job/b", 0, 5000)).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench.sink.take(bench.acquire(5, 3, "job/c", 0, 5000)).slot.detail,
            number(ErrorCode::SessionLocksExhausted));
}

// A session of one lock with a delay whose time has run out: it stays registered, and lives no
// more.
struct FailedSession {
  explicit FailedSession(std::uint32_t quota = 0) : bench({NodeId{1}}, NodeId{1}, quota) {
    bench.lead_all();
    protocol::LockAcquire acquire;
    acquire.caller = {SessionId{5}, RequestSequence{1}, RequestSequence{1}};
    acquire.ttl_ms = 200;
    protocol::RequestSlot slot = protocol::to_hold_slot(acquire);
    slot.shard = LockBench::shard_of_name("job/a").value;
    const auto id = bench.send(slot, protocol::encode_hold({.delay_ms = 10'000, .name = "job/a"}));
    EXPECT_EQ(bench.decided(id).slot.code, StatusCode::Ok);
    while (bench.engine.proposals.empty()) {
      bench.pass_ms(10);
    }
    bench.decide();
    EXPECT_EQ(bench.service->locks().delays().size(), 1u);
  }

  LockBench bench;
};

TEST(SessionLeasesTest, S6ASessionThatFailedIsNeitherListedNorShownThoughItsLockIsInItsDelay) {
  FailedSession failed;
  grant(failed.bench, 6, 5000);
  const auto page = list(failed.bench, {});
  ASSERT_EQ(page.rows.size(), 1u);
  EXPECT_EQ(page.rows[0].session, SessionId{6});
  EXPECT_EQ(list(failed.bench, {.count_only = true}).count, 1u);
  EXPECT_EQ(list(failed.bench, {.filter = protocol::SessionFilter::Holding}).count, 0u);
  const auto details = show(failed.bench, 5);
  EXPECT_EQ(details.row.registration_count, 0u);
  EXPECT_EQ(details.row.lock_count, 0u);
  EXPECT_TRUE(details.keys.empty());
}

TEST(SessionLeasesTest, S6WhoFailedInOneShardAndLivesInAnotherIsListedByThatOne) {
  FailedSession failed;
  for (std::uint64_t i = 0; i < 16; ++i) {  // Of any shard but the one where it failed.
    const std::string name = "other/" + std::to_string(i);
    if (LockBench::shard_of_name(name) != LockBench::shard_of_name("job/a")) {
      failed.bench.decided(failed.bench.acquire(5, i + 1, name, 0, 5000));
    }
  }
  const auto page = list(failed.bench, {});
  ASSERT_EQ(page.rows.size(), 1u);
  EXPECT_EQ(page.rows[0].session, SessionId{5});
  EXPECT_EQ(page.rows[0].lock_count, show(failed.bench, 5).keys.size());
}

TEST(SessionLeasesTest, S12LocksInTheirDelayAreStillPartOfTheQuotaOfWhoFailedWithThem) {
  FailedSession failed(2);
  LockBench& bench = failed.bench;
  // In the shard where it failed it can have nothing; elsewhere one more and not two.
  std::vector<std::string> names;
  for (std::uint64_t i = 0; names.size() < 2; ++i) {
    const std::string name = "other/" + std::to_string(i);
    if (LockBench::shard_of_name(name) != LockBench::shard_of_name("job/a")) {
      names.push_back(name);
    }
  }
  EXPECT_EQ(bench.decided(bench.acquire(5, 1, names[0], 0, 5000)).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench.sink.take(bench.acquire(5, 2, names[1], 0, 5000)).slot.detail,
            number(ErrorCode::SessionLocksExhausted));
}

}  // namespace
}  // namespace gcoord::server
