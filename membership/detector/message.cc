#include "membership/detector/message.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/random.h"

#include <algorithm>

namespace gcoord::membership {

namespace {

constexpr std::uint32_t kMark = 0x44464347;  // "GCFD".
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kTagBytes = 8;
constexpr std::size_t kOpinionBytes = 10;

bool is_wrong(const Opinion& opinion) {
  return opinion.node.value == 0 || opinion.verdict > Verdict::Suspect ||
         opinion.cause > Cause::Link;
}

bool is_wrong(const DetectorMessage& message) {
  const bool relays =
      message.kind == MessageKind::PingRequest || message.kind == MessageKind::Relayed;
  const bool answers = message.kind == MessageKind::Relayed;
  return message.kind < MessageKind::Ping || message.kind > MessageKind::Relayed ||
         message.outcome > Outcome::Refused || answers != (message.outcome != Outcome::None) ||
         message.device > DeviceHealth::Stopped || message.from.value == 0 ||
         message.incarnation.value == 0 || relays != (message.about.value != 0);
}

Opinion read_opinion(ByteReader& reader) {
  Opinion opinion;
  opinion.node = NodeId{reader.integer<std::uint32_t>()};
  opinion.incarnation = Incarnation{reader.integer<std::uint32_t>()};
  opinion.verdict = static_cast<Verdict>(reader.integer<std::uint8_t>());
  opinion.cause = static_cast<Cause>(reader.integer<std::uint8_t>());
  return opinion;
}

}  // namespace

SipKey tag_key_of(ClusterId cluster) {
  return {cluster.value, mix64(cluster.value)};
}

std::vector<std::byte> encode_message(const DetectorMessage& message,
                                      ClusterId cluster,
                                      const SipKey& key) {
  GCOORD_ASSERT(message.room() <= kOpinionsMax);
  std::vector<std::byte> bytes;
  bytes.reserve(kMessageBytesMax);
  ByteWriter writer{bytes};
  writer.integer(kMark);
  writer.integer(kVersion);
  writer.integer(static_cast<std::uint8_t>(message.kind));
  writer.integer(static_cast<std::uint8_t>(message.outcome));
  writer.integer(static_cast<std::uint8_t>(message.device));
  writer.integer(cluster.value);
  writer.integer(message.from.value);
  writer.integer(message.to.value);
  writer.integer(message.incarnation.value);
  writer.integer(message.sequence);
  writer.integer(message.about.value);
  writer.integer(static_cast<std::uint32_t>(message.opinions.size()));
  for (const Opinion& opinion : message.opinions) {
    writer.integer(opinion.node.value);
    writer.integer(opinion.incarnation.value);
    writer.integer(static_cast<std::uint8_t>(opinion.verdict));
    writer.integer(static_cast<std::uint8_t>(opinion.cause));
  }
  bytes.resize(bytes.size() + message.padding * kOpinionBytes);
  writer.integer(siphash(key, bytes));
  GCOORD_ASSERT(bytes.size() <= kMessageBytesMax);
  return bytes;
}

DecodedMessage decode_message(std::span<const std::byte> bytes,
                              const MessageReader& own,
                              std::span<const SipKey> keys) {
  const DecodedMessage malformed{.fault = MessageFault::Malformed, .message = {}, .key = {}};
  if (bytes.size() < kMessageBytesMin || bytes.size() > kMessageBytesMax) {
    return malformed;
  }
  ByteReader reader{bytes};
  const auto mark = reader.integer<std::uint32_t>();
  const auto version = reader.integer<std::uint8_t>();
  DecodedMessage decoded;
  DetectorMessage& message = decoded.message;
  message.kind = static_cast<MessageKind>(reader.integer<std::uint8_t>());
  message.outcome = static_cast<Outcome>(reader.integer<std::uint8_t>());
  message.device = static_cast<DeviceHealth>(reader.integer<std::uint8_t>());
  const ClusterId of{reader.integer<std::uint64_t>()};
  message.from = NodeId{reader.integer<std::uint32_t>()};
  message.to = NodeId{reader.integer<std::uint32_t>()};
  message.incarnation = Incarnation{reader.integer<std::uint32_t>()};
  message.sequence = reader.integer<std::uint32_t>();
  message.about = NodeId{reader.integer<std::uint32_t>()};
  const std::uint32_t count = reader.count(kOpinionBytes, kOpinionsMax);
  bool wrong = mark != kMark || version != kVersion || is_wrong(message);
  for (std::uint32_t k = 0; k < count; ++k) {
    message.opinions.push_back(read_opinion(reader));
    wrong = wrong || is_wrong(message.opinions.back());
  }
  const std::size_t said = kMessageBytesMin + message.opinions.size() * kOpinionBytes;
  if (!reader.ok() || bytes.size() < said) {
    return malformed;
  }
  // What the tag and the opinions leave is padding, if it is zeros.
  const std::size_t rest = bytes.size() - said;
  message.padding = static_cast<std::uint32_t>(rest / kOpinionBytes);
  wrong = wrong || rest % kOpinionBytes != 0;
  for (std::size_t k = 0; k < rest; ++k) {
    wrong = wrong || reader.integer<std::uint8_t>() != 0;
  }
  const auto tag = reader.integer<std::uint64_t>();
  if (wrong || !reader.complete()) {
    return malformed;
  }
  if (of != own.cluster || message.to != own.self || message.from == own.self) {
    return {.fault = MessageFault::Foreign, .message = {}, .key = {}};
  }
  const auto key = std::ranges::find_if(keys, [&](const SipKey& each) {
    return tag == siphash(each, bytes.first(bytes.size() - kTagBytes));
  });
  if (key == keys.end()) {
    return malformed;
  }
  decoded.key = *key;
  return decoded;
}

std::vector<std::byte> encode_message(const DetectorMessage& message, ClusterId cluster) {
  return encode_message(message, cluster, tag_key_of(cluster));
}

DecodedMessage decode_message(std::span<const std::byte> bytes, ClusterId cluster, NodeId self) {
  const SipKey key = tag_key_of(cluster);
  return decode_message(bytes, {cluster, self}, {&key, 1});
}

}  // namespace gcoord::membership
