// Reads of the lock service over an engine that confirms leadership when the test says so.
#include "server/reads/lock_reads.h"

#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

std::uint32_t number(ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

TEST(LockReadsTest, CheckIsAnsweredWhenLeadershipIsConfirmed) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  const auto check = [&](std::uint64_t token) {
    protocol::RequestSlot slot = bench.slot(RequestKind::LockCheck);
    slot.token = token;
    slot.shard = LockBench::shard_of_name("a").value;
    const auto id = bench.send(slot, "a");
    EXPECT_TRUE(bench.sink.replies.empty());
    bench.engine.confirm_reads(*bench.service);
    return static_cast<protocol::CheckVerdict>(bench.sink.take(id).slot.extra);
  };
  EXPECT_EQ(check(held.slot.token), protocol::CheckVerdict::Valid);
  EXPECT_EQ(check(held.slot.token + 7), protocol::CheckVerdict::Stale);
  bench.decided(bench.release(5, 2, "a", held.slot.token));
  EXPECT_EQ(check(held.slot.token), protocol::CheckVerdict::Free);
}

TEST(LockReadsTest, WhatAQueryAsksForTooMuchOfHasItsOwnCode) {
  LockBench bench;
  bench.lead_all();
  const auto list = [&](const protocol::ListQuery& query) {
    const auto payload = protocol::encode_list_query(query);
    const auto id = bench.send(bench.slot(RequestKind::LockList), protocol::text_of(payload));
    return bench.sink.take(id).slot.detail;
  };
  EXPECT_EQ(list({.limit = 0}), number(ErrorCode::LimitOutOfRange));
  EXPECT_EQ(list({.prefix = std::string(protocol::kNameBytesMax + 1, 'x')}),
            number(ErrorCode::PrefixTooLong));
  EXPECT_EQ(list({.cursor = "no cursor"}), number(ErrorCode::PayloadMalformed));
  const std::string longest(protocol::kNameBytesMax + 1, 'x');
  const std::vector<protocol::TokenCheck> checks{{longest, FencingToken{1}}};
  const auto batch = protocol::encode_check_batch(checks);
  const auto id = bench.send(bench.slot(RequestKind::LockCheckBatch), protocol::text_of(batch));
  EXPECT_EQ(bench.sink.take(id).slot.detail, number(ErrorCode::NameTooLong));
}

TEST(LockReadsTest, ALostReadIsNotAnswered) {
  LockBench bench;
  bench.lead_all();
  const auto id = bench.send(bench.slot(RequestKind::LockGet), "a");
  bench.engine.confirm_reads(
      *bench.service, Status{StatusCode::Unavailable, "leadership ended"}, NodeId{2});
  EXPECT_EQ(bench.sink.take(id).slot.leader, 2u);
}

TEST(LockReadsTest, GetDescribesHolderAndWaiters) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  bench.acquire(6, 9, "a", protocol::kForeverMs);
  bench.decide();
  bench.pass_ms(70);
  protocol::RequestSlot slot = bench.slot(RequestKind::LockGet);
  slot.set(protocol::RequestFlag::Waiters);
  const auto id = bench.send(slot, "a");
  bench.engine.confirm_reads(*bench.service);
  const auto row = protocol::decode_lock_row(bench.sink.take(id).payload);
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row.value().name, "a");
  EXPECT_EQ(row.value().holder, SessionId{5});
  EXPECT_EQ(row.value().token.value, held.slot.token);
  ASSERT_EQ(row.value().waiters.size(), 1u);
  EXPECT_EQ(row.value().waiters[0].sequence, RequestSequence{9});
  EXPECT_EQ(row.value().waiters[0].waited_ms, 70u);
}

TEST(LockReadsTest, L20GetShowsNoteOwnerTokenAndWhenToWhomAsks) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire_hold(5, 1, {.name = "a", .note = "on gpu7"}));
  protocol::RequestSlot slot = bench.slot(RequestKind::LockGet);
  slot.set(protocol::RequestFlag::Details);
  const auto id = bench.send(slot, "a");
  bench.engine.confirm_reads(*bench.service);
  const auto row = protocol::decode_lock_details(bench.sink.take(id).payload);
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row.value().note, "on gpu7");
  EXPECT_EQ(row.value().hold_count, 1u);
  EXPECT_EQ(row.value().holder, SessionId{5});
  EXPECT_EQ(row.value().token.value, held.slot.token);
  EXPECT_EQ(row.value().acquired_index, LogIndex{1});
  // A client of before gets the row of before.
  const auto plain = bench.send(bench.slot(RequestKind::LockGet), "a");
  bench.engine.confirm_reads(*bench.service);
  EXPECT_TRUE(protocol::decode_lock_row(bench.sink.take(plain).payload).ok());
}

TEST(LockReadsTest, L5ListNamesWaitersWithPositionSessionAndHowLongTheyWait) {
  LockBench bench;
  bench.lead_all();
  bench.decided(bench.acquire(5, 1, "a", 0, 60'000));
  bench.acquire(6, 9, "a", protocol::kForeverMs, 60'000);
  bench.decide();
  bench.pass_ms(70);
  bench.acquire(7, 4, "a", protocol::kForeverMs, 60'000);
  bench.decide();
  bench.pass_ms(30);
  protocol::RequestSlot slot = bench.slot(RequestKind::LockList);
  slot.set(protocol::RequestFlag::Waiters);
  const auto id = bench.send(slot, protocol::encode_list_query({}));
  bench.engine.confirm_reads(*bench.service);
  const auto page = protocol::decode_list_page(bench.sink.take(id).payload);
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page.value().rows.size(), 1u);
  const auto& waiters = page.value().rows[0].waiters;
  ASSERT_EQ(waiters.size(), 2u);
  EXPECT_EQ(waiters[0].session, SessionId{6});
  EXPECT_EQ(waiters[0].waited_ms, 100u);
  EXPECT_EQ(waiters[1].session, SessionId{7});
  EXPECT_EQ(waiters[1].waited_ms, 30u);
}

TEST(LockReadsTest, GetOfAnAbsentLockSaysSo) {
  LockBench bench;
  bench.lead_all();
  const auto id = bench.send(bench.slot(RequestKind::LockGet), "nobody");
  bench.engine.confirm_reads(*bench.service);
  EXPECT_EQ(bench.sink.take(id).slot.detail, number(ErrorCode::LockAbsent));
}

TEST(LockReadsTest, CheckBatchLeavesOutWhatOthersLead) {
  LockBench bench;
  const std::string led = "a";
  std::string other = "b";
  while (LockBench::shard_of_name(other) == LockBench::shard_of_name(led)) {
    other += "b";
  }
  bench.engine.lead(*bench.service, LockBench::shard_of_name(led));
  const auto held = bench.decided(bench.acquire(5, 1, led));
  const std::vector<protocol::TokenCheck> checks = {
      {led, FencingToken{held.slot.token}}, {other, FencingToken{1}}, {led, FencingToken{99}}};
  const auto id =
      bench.send(bench.slot(RequestKind::LockCheckBatch), protocol::encode_check_batch(checks));
  bench.engine.confirm_reads(*bench.service);
  const auto verdicts = protocol::decode_verdicts(bench.sink.take(id).payload);
  ASSERT_TRUE(verdicts.ok());
  EXPECT_EQ(verdicts.value(),
            (std::vector{protocol::CheckVerdict::Valid,
                         protocol::CheckVerdict::NotLeader,
                         protocol::CheckVerdict::Stale}));
}

TEST(LockReadsTest, ListPagesThroughAllLocksOnce) {
  LockBench bench;
  bench.lead_all();
  std::set<std::string> names;
  for (int i = 0; i < 25; ++i) {
    names.insert("job/" + std::to_string(i));
    bench.acquire(5, static_cast<std::uint64_t>(i + 1), "job/" + std::to_string(i));
  }
  bench.acquire(5, 26, "other");
  bench.decide();
  bench.sink.replies.clear();
  std::multiset<std::string> seen;
  std::string cursor;
  do {
    const protocol::ListQuery query{"job/", cursor, 4};
    const auto id =
        bench.send(bench.slot(RequestKind::LockList), protocol::encode_list_query(query));
    bench.engine.confirm_reads(*bench.service);
    const auto page = protocol::decode_list_page(bench.sink.take(id).payload);
    ASSERT_TRUE(page.ok());
    EXPECT_LE(page.value().rows.size(), 4u);
    for (const protocol::LockRow& row : page.value().rows) {
      seen.insert(row.name);
    }
    cursor = page.value().next_cursor;
  } while (!cursor.empty());
  EXPECT_EQ(seen, std::multiset<std::string>(names.begin(), names.end()));
}

// What a client may not see does not fill its page either: a page of one row says nothing of it.
TEST(LockReadsTest, LocksThatAClientMayNotSeeDoNotCountForAPage) {
  LockBench bench;
  bench.lead_all();
  std::uint64_t sequence = 0;
  for (const std::string_view name : {"a/1", "a/2", "b/1", "a/3", "b/2"}) {
    bench.acquire(5, ++sequence, name);
    bench.decide();
  }
  bench.sink.listed_prefix = "b/";
  std::vector<std::string> seen;
  std::string cursor;
  do {
    const auto id =
        bench.send(bench.slot(RequestKind::LockList), protocol::encode_list_query({"", cursor, 1}));
    bench.engine.confirm_reads(*bench.service);
    const auto page = protocol::decode_list_page(bench.sink.take(id).payload);
    ASSERT_TRUE(page.ok());
    EXPECT_TRUE(page.value().rows.size() == 1 || page.value().next_cursor.empty());
    for (const protocol::LockRow& row : page.value().rows) {
      seen.push_back(row.name);
    }
    cursor = page.value().next_cursor;
  } while (!cursor.empty());
  EXPECT_EQ(seen, (std::vector<std::string>{"b/1", "b/2"}));
}

TEST(LockReadsTest, ReadsThatWaitForTheirConfirmationAreBoundedInMemory) {
  LockBench bench;
  bench.lead_all();
  const std::string name(protocol::kNameBytesMax, 'n');
  const std::vector<protocol::TokenCheck> checks(1'000,
                                                 protocol::TokenCheck{name, FencingToken{1}});
  const std::vector<std::byte> batch = protocol::encode_check_batch(checks);
  std::vector<std::uint64_t> asked;
  for (std::size_t bytes = 0; bytes < 2 * kReadBytesMax; bytes += batch.size()) {
    asked.push_back(bench.send(bench.slot(RequestKind::LockCheckBatch), batch));
    ASSERT_LE(bench.service->handlers().reads.held_bytes(), kReadBytesMax);
  }
  EXPECT_EQ(bench.sink.take(asked.back()).slot.detail, number(ErrorCode::Overloaded));
  bench.engine.confirm_reads(*bench.service);
  EXPECT_EQ(bench.sink.take(asked.front()).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench.service->handlers().reads.held_bytes(), 0u);
}

TEST(LockReadsTest, AListLooksAtABoundedNumberOfLocksAndGoesOnFromThere) {
  LockBench bench;
  bench.lead_all();
  constexpr std::uint64_t kLocks = 3 * kListRowsLookedAt / 2;
  for (std::uint64_t i = 1; i <= kLocks; ++i) {
    protocol::LockAcquire acquire;
    acquire.caller = {SessionId{5}, RequestSequence{i}, RequestSequence{i}};
    acquire.ttl_ms = 1000;
    const std::string name = (i == kLocks ? "last/" : "lock/") + std::to_string(i);
    protocol::RequestSlot slot = protocol::to_slot(acquire);
    slot.shard = LockBench::shard_of_name(name).value;
    bench.send(slot, name);
  }
  bench.decide();
  bench.sink.replies.clear();
  const auto page_at = [&](const std::string& cursor) {
    const protocol::ListQuery query{"last/", cursor, 100};
    const auto id =
        bench.send(bench.slot(RequestKind::LockList), protocol::encode_list_query(query));
    bench.engine.confirm_reads(*bench.service);
    return protocol::decode_list_page(bench.sink.take(id).payload).value();
  };
  const protocol::ListPage first = page_at("");
  EXPECT_TRUE(first.rows.empty());
  ASSERT_FALSE(first.next_cursor.empty());
  const protocol::ListPage second = page_at(first.next_cursor);
  EXPECT_EQ(second.rows.size(), 1u);
  EXPECT_TRUE(second.next_cursor.empty());
  // Many requests in one frame share a budget, which every tick renews.
  std::uint64_t last = 0;
  const protocol::ListQuery none{"nothing begins so/", "", 100};
  for (int i = 0; i < 100; ++i) {
    last = bench.send(bench.slot(RequestKind::LockList), protocol::encode_list_query(none));
  }
  EXPECT_EQ(bench.sink.take(last).slot.detail, number(ErrorCode::Overloaded));
  bench.pass_ms(10);
  last = bench.send(bench.slot(RequestKind::LockList), protocol::encode_list_query(none));
  EXPECT_EQ(bench.sink.take(last).slot.code, StatusCode::Ok);
}

TEST(LockReadsTest, AListSaysWhenItHadToLeaveLocksOut) {
  LockBench bench;
  bench.lead_all();
  bench.decided(bench.acquire(5, 1, "a"));
  const auto list = [&](const Status& confirmed) {
    const auto id = bench.send(bench.slot(RequestKind::LockList),
                               protocol::encode_list_query(protocol::ListQuery{}));
    bench.engine.confirm_reads(*bench.service, confirmed, NodeId{2});
    const KeptReply reply = bench.sink.take(id);
    return std::pair{protocol::decode_list_page(reply.payload).value().rows.size(),
                     reply.slot.has(protocol::ReplyFlag::Partial)};
  };
  EXPECT_EQ(list(Status{}), std::pair(std::size_t{1}, false));
  EXPECT_EQ(list(Status{StatusCode::Unavailable, "leadership ended"}),
            std::pair(std::size_t{0}, true));
  bench.engine.follow(*bench.service, LockBench::shard_of_name("a"), NodeId{2});
  EXPECT_EQ(list(Status{}), std::pair(std::size_t{0}, false)) << "node 2 lists it";
  bench.engine.other_leader = NodeId{};
  EXPECT_EQ(list(Status{}), std::pair(std::size_t{0}, true)) << "nobody lists it";
}

}  // namespace
}  // namespace gcoord::server
