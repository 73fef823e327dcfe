// Payloads of requests about groups: both ways, cut, and beyond their bounds.
#include "protocol/groups/messages.h"

#include "protocol/lock_messages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::protocol {
namespace {

RequestSlot slot_of(RequestKind kind) {
  RequestSlot slot;
  slot.kind = kind;
  slot.session = 5;
  slot.sequence = 1;
  slot.acked_below = 1;
  slot.ttl_ms = 1000;
  return slot;
}

ErrorCode judged(RequestKind kind, const std::vector<std::byte>& payload) {
  return check_group_request(slot_of(kind), payload, {});
}

TEST(GroupMessages, AnAnswerIsReadAsItWasWrittenAndNeverBeyondItsEnd) {
  GroupAnswer answer{.whole = true, .epoch = 7, .barrier_size = 3, .arrived = 2, .rows = {}};
  answer.rows.push_back({7, GroupChangeKind::Joined, SessionId{5}, "a", "here"});
  answer.rows.push_back({7, GroupChangeKind::Left, SessionId{6}, "b", ""});
  const auto bytes = encode_group_answer(answer);
  const auto read = decode_group_answer(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read.value().whole);
  EXPECT_EQ(read.value().epoch, 7u);
  EXPECT_EQ(read.value().arrived, 2u);
  ASSERT_EQ(read.value().rows.size(), 2u);
  EXPECT_EQ(read.value().rows[0].payload, "here");
  EXPECT_EQ(read.value().rows[1].kind, GroupChangeKind::Left);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_group_answer(std::span{bytes}.first(size)).ok()) << size;
  }
  auto claims = bytes;
  claims[17] = std::byte{0xff};  // Far more rows than there are.
  EXPECT_FALSE(decode_group_answer(claims).ok());
}

TEST(GroupMessages, EachFieldBeyondItsBoundHasANumberOfItsOwn) {
  const std::string long_name(kGroupNameBytesMax + 1, 'n');
  const std::string long_id(kMemberIdBytesMax + 1, 'i');
  const std::string long_payload(kMemberPayloadBytesMax + 1, 'p');
  EXPECT_EQ(judged(RequestKind::GroupJoin, encode_group_join({"g", "a", "p"})), ErrorCode::None);
  EXPECT_EQ(judged(RequestKind::GroupJoin, encode_group_join({long_name, "a", ""})),
            ErrorCode::GroupNameTooLong);
  EXPECT_EQ(judged(RequestKind::GroupJoin, encode_group_join({"", "a", ""})), ErrorCode::NameEmpty);
  EXPECT_EQ(judged(RequestKind::GroupJoin, encode_group_join({"g", long_id, ""})),
            ErrorCode::MemberIdInvalid);
  EXPECT_EQ(judged(RequestKind::GroupJoin, encode_group_join({"g", "\x1b[31m", ""})),
            ErrorCode::MemberIdInvalid);
  EXPECT_EQ(judged(RequestKind::GroupJoin, encode_group_join({"g", "a", long_payload})),
            ErrorCode::MemberPayloadTooLong);
  EXPECT_EQ(judged(RequestKind::GroupUpdate, encode_group_update({"g", long_payload})),
            ErrorCode::MemberPayloadTooLong);
  EXPECT_EQ(judged(RequestKind::GroupBarrier, encode_group_arrival({kGroupMembersMax + 1, "g"})),
            ErrorCode::BarrierSizeInvalid);
  EXPECT_EQ(judged(RequestKind::GroupBarrier, encode_group_arrival({2, "g"})), ErrorCode::None);
  EXPECT_EQ(judged(RequestKind::GroupGet, encode_group_query({1, 2, "g"})), ErrorCode::None);
  EXPECT_EQ(judged(RequestKind::GroupGet, {}), ErrorCode::PayloadMalformed);
  EXPECT_EQ(judged(RequestKind::GroupJoin, {}), ErrorCode::PayloadMalformed);
}

TEST(GroupMessages, AChangeNeedsASessionAndItsNumber) {
  RequestSlot slot = slot_of(RequestKind::GroupLeave);
  slot.session = 0;
  EXPECT_EQ(check_group_request(slot, bytes_of("g"), {}), ErrorCode::SessionZero);
  slot = slot_of(RequestKind::GroupLeave);
  slot.sequence = 0;
  EXPECT_EQ(check_group_request(slot, bytes_of("g"), {}), ErrorCode::SequenceZero);
  slot = slot_of(RequestKind::GroupJoin);
  slot.ttl_ms = 1;
  EXPECT_EQ(check_group_request(slot, encode_group_join({"g", "a", ""}), {}),
            ErrorCode::TtlTooShort);
}

}  // namespace
}  // namespace gcoord::protocol
