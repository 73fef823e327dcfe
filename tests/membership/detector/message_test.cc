// Bytes of datagrams, and the hash that marks them.
#include "membership/detector/message.h"

#include "common/bytes.h"
#include "common/random.h"
#include "common/siphash.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::membership {
namespace {

constexpr ClusterId kCluster{0x1234};

DetectorMessage relayed() {
  return {.kind = MessageKind::Relayed,
          .outcome = Outcome::Refused,
          .device = DeviceHealth::Works,
          .from = NodeId{2},
          .to = NodeId{1},
          .incarnation = Incarnation{7},
          .sequence = 99,
          .about = NodeId{3},
          .opinions = {{NodeId{3}, Incarnation{4}, Verdict::Suspect, Cause::Silent}}};
}

// Vectors of the reference implementation: key 00 01 .. 0f, input 00 01 .. (n - 1).
TEST(SipHash, MatchesTheReference) {
  const SipKey key{0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
  std::vector<std::byte> input;
  EXPECT_EQ(siphash(key, input), 0x726fdb47dd0e0e31u);
  for (std::uint8_t k = 0; k < 15; ++k) {
    input.push_back(std::byte{k});
  }
  EXPECT_EQ(siphash(key, input), 0xa129ca6149be45e5u);
}

TEST(DetectorMessage, ComesBackAsItWas) {
  const auto bytes = encode_message(relayed(), kCluster);
  const DecodedMessage decoded = decode_message(bytes, kCluster, NodeId{1});
  EXPECT_EQ(decoded.fault, MessageFault::None);
  EXPECT_EQ(decoded.message, relayed());
}

TEST(DetectorMessage, IsForItsClusterAndItsNode) {
  const auto bytes = encode_message(relayed(), kCluster);
  EXPECT_EQ(decode_message(bytes, ClusterId{5}, NodeId{1}).fault, MessageFault::Foreign);
  EXPECT_EQ(decode_message(bytes, kCluster, NodeId{4}).fault, MessageFault::Foreign);
  EXPECT_EQ(decode_message(bytes, kCluster, NodeId{2}).fault, MessageFault::Foreign)
      << "nor does a node speak with itself";
}

TEST(DetectorMessage, AnyByteThatIsAnotherOneIsNoticed) {
  const auto bytes = encode_message(relayed(), kCluster);
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    auto damaged = bytes;
    damaged[k] ^= std::byte{1};
    EXPECT_NE(decode_message(damaged, kCluster, NodeId{1}).fault, MessageFault::None) << k;
  }
}

TEST(DetectorMessage, LengthsAreBounded) {
  const auto bytes = encode_message(relayed(), kCluster);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(decode_message(std::span(bytes).first(size), kCluster, NodeId{1}).fault,
              MessageFault::Malformed);
  }
  auto longer = bytes;
  longer.resize(kMessageBytesMax + 1);
  EXPECT_EQ(decode_message(longer, kCluster, NodeId{1}).fault, MessageFault::Malformed);
}

TEST(DetectorMessage, IsPaddedByZerosToTheLengthOfItsAnswer) {
  DetectorMessage padded = relayed();
  padded.padding = kOpinionsMax - 1;
  auto bytes = encode_message(padded, kCluster);
  EXPECT_EQ(bytes.size(), kMessageBytesMax);
  EXPECT_EQ(decode_message(bytes, kCluster, NodeId{1}).message, padded);
  const auto tag = [&bytes] {
    const auto said = std::span{bytes}.first(bytes.size() - 8);
    store(bytes.data() + said.size(), siphash({kCluster.value, mix64(kCluster.value)}, said));
  };
  bytes[70] = std::byte{1};
  tag();
  EXPECT_EQ(decode_message(bytes, kCluster, NodeId{1}).fault, MessageFault::Malformed);
  bytes[70] = std::byte{0};
  bytes.resize(bytes.size() - 5);
  tag();
  EXPECT_EQ(decode_message(bytes, kCluster, NodeId{1}).fault, MessageFault::Malformed);
  bytes.resize(bytes.size() - 5);
  tag();
  EXPECT_EQ(decode_message(bytes, kCluster, NodeId{1}).fault, MessageFault::None);
}

TEST(DetectorMessage, WhatNoNodeSendsIsMalformed) {
  DetectorMessage ping{.from = NodeId{2}, .to = NodeId{1}, .incarnation = Incarnation{1}};
  ping.about = NodeId{3};
  EXPECT_EQ(decode_message(encode_message(ping, kCluster), kCluster, NodeId{1}).fault,
            MessageFault::Malformed)
      << "a ping is about nobody";
  ping.about = NodeId{};
  ping.outcome = Outcome::Refused;
  EXPECT_EQ(decode_message(encode_message(ping, kCluster), kCluster, NodeId{1}).fault,
            MessageFault::Malformed)
      << "and says nothing of another node";
}

}  // namespace
}  // namespace gcoord::membership
