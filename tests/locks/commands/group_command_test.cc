// Commands to groups in the log, and what the lock machine does with them: sessions and windows.
#include "locks/commands/group_command.h"

#include "locks/cpu/lock_cpu.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::locks {
namespace {

constexpr ShardId kShard{0};
const std::string kText = std::string("crew") + "\x01\x01" + "a";

LockCommand request(std::uint64_t session, std::uint64_t sequence, std::uint32_t ttl_ms = 1000) {
  return make_group_request({.session = SessionId{session},
                             .sequence = RequestSequence{sequence},
                             .ttl_ms = ttl_ms,
                             .name_bytes = 4,
                             .text = kText});
}

std::vector<std::byte> bytes_of(const LockCommand& command) {
  std::vector<std::byte> bytes;
  encode(command, bytes);
  return bytes;
}

class GroupCommand : public testing::Test {
 protected:
  LockReply apply(const LockCommand& command) {
    LockEvents events{events_.data(), static_cast<std::uint32_t>(events_.size()), 0};
    return locks_.apply(kShard, ++index_, command, Tick{1}, events);
  }

  LockCpu locks_{LockOptions{}};
  LogIndex index_;
  std::vector<LockEvent> events_ = std::vector<LockEvent>(kLockEventsPerCommandMax);
};

TEST_F(GroupCommand, BytesSayAllThatACommandSays) {
  const auto bytes = bytes_of(request(5, 7));
  const auto decoded = decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(decoded.value().kind, LockCommandKind::GroupRequest);
  EXPECT_EQ(decoded.value().ttl_ms, 1000u);
  EXPECT_EQ(decoded.value().name_hash, hash_name("crew"));
  EXPECT_EQ(group_body(decoded.value()), kText.substr(4));
  EXPECT_EQ(bytes_of(decoded.value()), bytes);
  const auto withdrawn = bytes_of(make_group_withdraw(
      {.session = SessionId{5}, .sequence = RequestSequence{7}, .generation = 3, .name = "crew"}));
  const auto again = decode(withdrawn);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(group_generation(again.value()), 3u);
  EXPECT_EQ(bytes_of(again.value()), withdrawn);
}

TEST_F(GroupCommand, CutBytesAndBytesTooManyAreRefused) {
  const auto whole = bytes_of(request(5, 7));
  for (std::size_t bytes = 1; bytes < whole.size() - 2; ++bytes) {
    EXPECT_FALSE(decode(std::span{whole}.first(bytes)).ok()) << bytes;
  }
  auto longer = whole;
  longer.resize(whole.size() + kGroupBodyBytesMax, std::byte{'x'});
  EXPECT_FALSE(decode(longer).ok());
}

TEST_F(GroupCommand, ARequestRegistersItsSessionAndARetryGetsWhatWasKept) {
  EXPECT_EQ(apply(request(5, 1, 0)).code, LockCode::SessionUnknown);
  const LockReply first = apply(request(5, 1));
  EXPECT_EQ(first.code, LockCode::GroupTaken);
  EXPECT_FALSE(first.replayed);
  EXPECT_TRUE(locks_.lives(kShard, SessionId{5}));
  locks_.keep_group_reply(
      {kShard, SessionId{5}, RequestSequence{1}, FencingToken{9}, SessionId{17}});
  const LockReply again = apply(request(5, 1));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.token.value, 9u);
  EXPECT_EQ(again.holder.value, 17u);
}

TEST_F(GroupCommand, WhatWasKeptGoesWithTheShardsState) {
  apply(request(5, 1));
  locks_.keep_group_reply(
      {kShard, SessionId{5}, RequestSequence{1}, FencingToken{9}, SessionId{17}});
  const auto bytes = locks_.serialize(kShard);
  ASSERT_TRUE(locks_.deserialize(kShard, bytes, Tick{1}).ok());
  EXPECT_EQ(locks_.serialize(kShard), bytes);
  EXPECT_EQ(apply(request(5, 1)).token.value, 9u);
}

TEST_F(GroupCommand, AWithdrawalFindsOnlyWhatAGroupWasAsked) {
  apply(request(5, 1));
  const auto withdraw = [](std::uint64_t sequence) {
    return make_group_withdraw({SessionId{5}, RequestSequence{sequence}, 3, "crew"});
  };
  EXPECT_EQ(apply(withdraw(1)).code, LockCode::GroupTaken);
  EXPECT_EQ(apply(withdraw(2)).code, LockCode::NotWaiting);
  apply(make_close_session(SessionId{5}, RequestSequence{1}));
  EXPECT_FALSE(locks_.lives(kShard, SessionId{5}));
  EXPECT_EQ(apply(withdraw(1)).code, LockCode::SessionUnknown);
}

// A device applies the entries, and does not know what groups answered.
TEST_F(GroupCommand, AChainWithoutAnswersIsThatOfTablesThatKnowNone) {
  const auto hash_after_retry = [](bool apart, std::uint64_t token) {
    LockCpu locks{LockOptions{.group_answers_apart = apart}};
    std::vector<LockEvent> room(kLockEventsPerCommandMax);
    LockEvents events{room.data(), static_cast<std::uint32_t>(room.size()), 0};
    locks.apply(kShard, LogIndex{1}, request(5, 1), Tick{1}, events);
    if (token != 0) {
      locks.keep_group_reply(
          {kShard, SessionId{5}, RequestSequence{1}, FencingToken{token}, SessionId{17}});
    }
    EXPECT_EQ(locks.apply(kShard, LogIndex{2}, request(5, 1), Tick{1}, events).token.value, token);
    locks.apply(kShard,
                LogIndex{3},
                make_group_withdraw({SessionId{5}, RequestSequence{1}, 3, "crew"}),
                Tick{1},
                events);
    return locks.state_hash(kShard);
  };
  EXPECT_EQ(hash_after_retry(true, 9), hash_after_retry(true, 0));
  EXPECT_NE(hash_after_retry(false, 9), hash_after_retry(false, 0));
  EXPECT_EQ(hash_after_retry(true, 0), hash_after_retry(false, 0));
}

}  // namespace
}  // namespace gcoord::locks
