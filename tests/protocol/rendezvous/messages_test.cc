// Payloads of requests about rendezvous: both ways, cut, and beyond their bounds.
#include "protocol/rendezvous/messages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::protocol {
namespace {

ErrorCode judged(RequestKind kind, const std::vector<std::byte>& payload, std::uint64_t session) {
  RequestSlot slot;
  slot.kind = kind;
  slot.session = session;
  slot.sequence = 1;
  slot.acked_below = 1;
  slot.ttl_ms = 1000;
  return check_rendezvous_request(slot, payload, {});
}

ErrorCode judged(const RendezvousJoin& join) {
  return judged(RequestKind::RendezvousJoin, encode_rendezvous_join(join), 5);
}

template <typename Decode>
void expect_refused_when_cut(const std::vector<std::byte>& bytes, const Decode& decode) {
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode(std::span{bytes}.first(size)).ok()) << size;
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode(longer).ok());
}

TEST(RendezvousMessages, ARoundIsReadAsItWasWrittenAndNeverBeyondItsEnd) {
  const std::vector<RendezvousMemberRow> members{{SessionId{5}, "a"}, {SessionId{6}, ""}};
  const auto bytes = encode_rendezvous_round(members);
  EXPECT_EQ(decode_rendezvous_round(bytes).value(), members);
  expect_refused_when_cut(bytes, decode_rendezvous_round);
  auto claims = bytes;
  claims[3] = std::byte{0xff};  // Far more members than there are.
  EXPECT_FALSE(decode_rendezvous_round(claims).ok());
}

TEST(RendezvousMessages, AStateIsReadAsItWasWrittenAndNeverBeyondItsEnd) {
  const RendezvousState state{.version = 9,
                              .round = 7,
                              .alive = 5,
                              .size = 3,
                              .present = 2,
                              .waiting = 1,
                              .members_min = 2,
                              .members_max = 4,
                              .last_call_ms = 100,
                              .last_call = true};
  const auto bytes = encode_rendezvous_state(state);
  EXPECT_EQ(decode_rendezvous_state(bytes).value(), state);
  expect_refused_when_cut(bytes, decode_rendezvous_state);
}

TEST(RendezvousMessages, EachFieldBeyondItsBoundHasANumberOfItsOwn) {
  EXPECT_EQ(judged({2, 4, 0, "job", "here"}), ErrorCode::None);
  EXPECT_EQ(judged({0, 4, 0, "job", ""}), ErrorCode::RendezvousBoundsInvalid);
  EXPECT_EQ(judged({5, 4, 0, "job", ""}), ErrorCode::RendezvousBoundsInvalid);
  EXPECT_EQ(judged({1, 257, 0, "job", ""}), ErrorCode::RendezvousBoundsInvalid);
  EXPECT_EQ(judged({1, 4, 86'400'001, "job", ""}), ErrorCode::RendezvousBoundsInvalid);
  EXPECT_EQ(judged({1, 4, 0, "", ""}), ErrorCode::NameEmpty);
  EXPECT_EQ(judged({1, 4, 0, std::string(257, 'n'), ""}), ErrorCode::GroupNameTooLong);
  EXPECT_EQ(judged({1, 4, 0, "job", std::string(513, 'p')}), ErrorCode::MemberPayloadTooLong);
  const auto join = encode_rendezvous_join({1, 4, 0, "job", ""});
  EXPECT_EQ(judged(RequestKind::RendezvousJoin, join, 0), ErrorCode::SessionZero);
  EXPECT_EQ(judged(RequestKind::RendezvousGet, {}, 0), ErrorCode::PayloadMalformed);
  EXPECT_EQ(judged(RequestKind::RendezvousGet, encode_rendezvous_query({0, "job"}), 0),
            ErrorCode::None);
  EXPECT_EQ(judged(RequestKind::RendezvousLeave, {}, 5), ErrorCode::NameEmpty);
}

}  // namespace
}  // namespace gcoord::protocol
