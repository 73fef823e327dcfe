// Payloads of reads with a freshness, and of sessions as leases.
#include "protocol/lease_messages.h"
#include "protocol/past_messages.h"
#include "protocol/read_messages.h"
#include "protocol/validate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::protocol {
namespace {

using Bytes = std::vector<std::byte>;

// Every cut of an encoding must fail to decode, and none may read outside (ASan watches).
template <typename Decode>
void expect_cuts_fail(const Bytes& payload, Decode decode) {
  for (std::size_t length = 0; length < payload.size(); ++length) {
    const Bytes cut{payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(length)};
    EXPECT_FALSE(decode(cut).ok()) << length;
  }
}

// Any single byte may be anything: decoding may fail or succeed but must stay in bounds.
template <typename Decode>
void survive_any_byte(const Bytes& payload, Decode decode) {
  for (std::size_t at = 0; at < payload.size(); ++at) {
    for (const int value : {0, 1, 0x7f, 0x80, 0xff}) {
      Bytes changed = payload;
      changed[at] = static_cast<std::byte>(value);
      static_cast<void>(decode(changed));
    }
  }
}

LockRead sample_read() {
  return {.terms = {.consistency = ReadConsistency::Monotonic,
                    .staleness_ms = 50,
                    .after = {{ShardId{3}, LogIndex{17}}, {ShardId{9}, LogIndex{1}}}},
          .question = ReadQuestion::Verdict,
          .names = {{"jobs/a", FencingToken{7}}, {"jobs/b", FencingToken{8}}}};
}

LockReadReply sample_reply() {
  LockReadReply reply;
  reply.question = ReadQuestion::Row;
  reply.shards = {{ShardId{3}, ErrorCode::None, NodeId{}, LogIndex{17}, 12},
                  {ShardId{9}, ErrorCode::StalenessExceeded, NodeId{2}, LogIndex{}, kAgeUnknown}};
  reply.names.resize(3);
  reply.names[0].answered = true;
  reply.names[0].present = true;
  reply.names[0].row.name = "jobs/a";
  reply.names[0].row.token = FencingToken{7};
  reply.names[1].answered = true;
  return reply;
}

TEST(ReadMessages, R7AReadKeepsItsTermsAndItsNames) {
  const LockRead read = sample_read();
  const Bytes bytes = encode_lock_read(read);
  const auto decoded = decode_lock_read(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value().terms.consistency, ReadConsistency::Monotonic);
  EXPECT_EQ(decoded.value().terms.staleness_ms, 50u);
  EXPECT_EQ(decoded.value().terms.after, read.terms.after);
  ASSERT_EQ(decoded.value().names.size(), 2u);
  EXPECT_EQ(decoded.value().names[1].name, "jobs/b");
  EXPECT_EQ(decoded.value().names[1].token, FencingToken{8});
  expect_cuts_fail(bytes, decode_lock_read);
  survive_any_byte(bytes, decode_lock_read);
}

TEST(ReadMessages, WhatAReadMayNotAskIsRefused) {
  LockRead read = sample_read();
  read.names = {{"", FencingToken{7}}};
  EXPECT_FALSE(decode_lock_read(encode_lock_read(read)).ok());
  read.names = {{"a", FencingToken{0}}};
  EXPECT_EQ(decode_lock_read(encode_lock_read(read)).status().detail(),
            static_cast<std::uint32_t>(ErrorCode::TokenZero));
  Bytes bytes = encode_lock_read(sample_read());
  bytes[0] = std::byte{6};  // A consistency that nobody knows.
  EXPECT_FALSE(decode_lock_read(bytes).ok());
}

TEST(ReadMessages, AReplyKeepsShardsAnswersAndWhatIsMissing) {
  const Bytes bytes = encode_lock_read_reply(sample_reply());
  const auto decoded = decode_lock_read_reply(bytes);
  ASSERT_TRUE(decoded.ok());
  ASSERT_EQ(decoded.value().shards.size(), 2u);
  EXPECT_EQ(decoded.value().shards[1].error, ErrorCode::StalenessExceeded);
  EXPECT_EQ(decoded.value().shards[1].leader, NodeId{2});
  EXPECT_EQ(decoded.value().shards[0].age_ms, 12u);
  ASSERT_EQ(decoded.value().names.size(), 3u);
  EXPECT_EQ(decoded.value().names[0].row.name, "jobs/a");
  EXPECT_TRUE(decoded.value().names[1].answered);
  EXPECT_FALSE(decoded.value().names[1].present);
  EXPECT_FALSE(decoded.value().names[2].answered);
  expect_cuts_fail(bytes, decode_lock_read_reply);
  survive_any_byte(bytes, decode_lock_read_reply);
}

TEST(ReadMessages, AListAndItsPageComeBack) {
  const Bytes list =
      encode_read_list({{ReadConsistency::Bounded, 50, {}}, {"jobs/", "cursor", 10}});
  const auto query = decode_read_list(list);
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query.value().query.prefix, "jobs/");
  expect_cuts_fail(list, decode_read_list);
  survive_any_byte(list, decode_read_list);
  LockReadPage page;
  page.page.next_cursor = "next";
  page.page.rows.resize(2);
  page.shards = sample_reply().shards;
  const Bytes bytes = encode_read_page(page);
  const auto decoded = decode_read_page(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value().page.rows.size(), 2u);
  EXPECT_EQ(decoded.value().shards.size(), 2u);
  expect_cuts_fail(bytes, decode_read_page);
  survive_any_byte(bytes, decode_read_page);
}

TEST(LeaseMessages, S5ASessionComesBackWithItsKeys) {
  const SessionDetails details{{SessionId{7}, 5000, 4000, 2, 3, true}, {"a", "b"}};
  const Bytes bytes = encode_session(details);
  const auto decoded = decode_session(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value().row.remaining_ms, 4000u);
  EXPECT_TRUE(decoded.value().row.granted);
  EXPECT_EQ(decoded.value().keys, details.keys);
  expect_cuts_fail(bytes, decode_session);
  survive_any_byte(bytes, decode_session);
}

TEST(LeaseMessages, S6QueriesAndPagesComeBackAndLimitsAreChecked) {
  const SessionQuery query{SessionFilter::Idle, true, 7, 1000, 99};
  const Bytes bytes = encode_session_query(query);
  const auto decoded = decode_session_query(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded.value().filter, SessionFilter::Idle);
  EXPECT_TRUE(decoded.value().count_only);
  EXPECT_EQ(decoded.value().cursor, 99u);
  expect_cuts_fail(bytes, decode_session_query);
  survive_any_byte(bytes, decode_session_query);
  EXPECT_EQ(decode_session_query(encode_session_query({.limit = 0})).status().detail(),
            static_cast<std::uint32_t>(ErrorCode::LimitOutOfRange));
  const Bytes page = encode_session_page({5, 2, {{SessionId{1}}, {SessionId{2}}}});
  ASSERT_TRUE(decode_session_page(page).ok());
  EXPECT_EQ(decode_session_page(page).value().rows.size(), 2u);
  expect_cuts_fail(page, decode_session_page);
  survive_any_byte(page, decode_session_page);
}

TEST(LeaseMessages, S1AGrantIsCheckedLikeAnyOtherRequest) {
  RequestSlot slot;
  slot.kind = RequestKind::SessionGrant;
  slot.ttl_ms = 5000;
  EXPECT_EQ(check_request(slot, {}, {}), ErrorCode::SessionZero);
  slot.session = 7;
  EXPECT_EQ(check_request(slot, {}, {}), ErrorCode::None);
  slot.ttl_ms = 1;
  EXPECT_EQ(check_request(slot, {}, {}), ErrorCode::TtlTooShort);
}

TEST(PastMessages, R6AQueryKeepsItsIndexAndItsName) {
  const Bytes query = encode_past_query({LogIndex{~std::uint64_t{0}}, "jobs/a"});
  ASSERT_TRUE(decode_past_query(query).ok());
  EXPECT_EQ(decode_past_query(query).value().index, LogIndex{~std::uint64_t{0}});
  EXPECT_EQ(decode_past_query(query).value().name, "jobs/a");
  for (std::size_t length = 0; length < 8; ++length) {
    EXPECT_FALSE(decode_past_query(std::span{query}.first(length)).ok()) << length;
  }
  RequestSlot slot;
  slot.kind = RequestKind::LockGetAt;
  EXPECT_EQ(check_request(slot, query, {}), ErrorCode::None);
  EXPECT_EQ(check_request(slot, std::span{query}.first(8), {}), ErrorCode::NameEmpty);
  EXPECT_EQ(check_request(slot, std::span{query}.first(7), {}), ErrorCode::PayloadMalformed);
}

TEST(PastMessages, R6AReplyIsALockOrNone) {
  PastReply reply{.shard = ShardId{3}, .index = LogIndex{17}};
  const Bytes absent = encode_past_reply(reply);
  ASSERT_TRUE(decode_past_reply(absent).ok());
  EXPECT_FALSE(decode_past_reply(absent).value().present);
  reply.present = true;
  reply.row.name = "jobs/a";
  reply.row.token = FencingToken{7};
  reply.row.holders = {{SessionId{1}, FencingToken{7}, LogIndex{3}, 1}};
  const Bytes present = encode_past_reply(reply);
  ASSERT_TRUE(decode_past_reply(present).ok());
  EXPECT_EQ(decode_past_reply(present).value().index, LogIndex{17});
  EXPECT_EQ(decode_past_reply(present).value().row.holders.size(), 1u);
  expect_cuts_fail(absent, decode_past_reply);
  expect_cuts_fail(present, decode_past_reply);
  survive_any_byte(present, decode_past_reply);
}

}  // namespace
}  // namespace gcoord::protocol
