// Datagrams of failure detection (SWIM: Das, Gupta, Motivala, DSN 2002, with the negative
// acknowledgements of Lifeguard: Dadgar, Phillips, Currey, DSN-W 2018).
//
//   Ping          "answer me"                     -> Ack
//   PingRequest   "ask `about`, and say whether"  -> Relayed: Answered, Refused or Silent
//
// Each one also has its sender's opinions about nodes that it does not hold for alive. An answer is
// never longer than its question, whoever asked, so a question is as long as the answer may be.
// Bytes, never renumbered: mark 4, version 1, kind 1, outcome 1, device 1, cluster 8, from 4, to 4,
// incarnation 4, sequence 4, about 4, count 4, opinions of 10, padding of zeros by 10, tag 8; an
// opinion: node 4, incarnation 4, verdict 1, cause 1.
//
// The tag is SipHash by a key of the cluster's secret (docs/adr/0134), or where there is none by
// the cluster's id, which many know: then it only keeps out what came by mistake, of other
// clusters, other programs, damaged bytes. A datagram that was seen on its way can be sent once
// more. Pure; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/siphash.h"
#include "membership/detector/opinion.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::membership {

// Never renumber.
enum class MessageKind : std::uint8_t { Ping = 1, PingRequest = 2, Ack = 3, Relayed = 4 };

// Of a PingRequest. Never renumber.
enum class Outcome : std::uint8_t {
  None = 0,  // Of all but a Relayed.
  Answered = 1,
  Silent = 2,
  Refused = 3,
};

inline constexpr std::uint32_t kOpinionsMax = 16;
inline constexpr std::size_t kMessageBytesMin = 48;
inline constexpr std::size_t kMessageBytesMax = kMessageBytesMin + kOpinionsMax * 10;

struct DetectorMessage {
  MessageKind kind = MessageKind::Ping;
  Outcome outcome = Outcome::None;
  DeviceHealth device = DeviceHealth::None;  // The sender's own.
  NodeId from;
  NodeId to;
  Incarnation incarnation;     // The sender's.
  std::uint32_t sequence = 0;  // An answer repeats it.
  NodeId about;                // Of a PingRequest and a Relayed.
  std::vector<Opinion> opinions;
  std::uint32_t padding = 0;  // Opinions more that an answer of the same length has room for.

  std::uint32_t room() const { return static_cast<std::uint32_t>(opinions.size()) + padding; }

  friend bool operator==(const DetectorMessage& a, const DetectorMessage& b) = default;
};

// Why bytes are no message for this node.
enum class MessageFault : std::uint8_t {
  None,
  Malformed,  // No datagram of a node.
  Foreign,    // Of another cluster, or for another node.
};

struct DecodedMessage {
  MessageFault fault = MessageFault::None;
  DetectorMessage message;  // Without a fault only,
  SipKey key;               // and by which key it was tagged.
};

// Of a cluster without a secret.
SipKey tag_key_of(ClusterId cluster);

// At most kOpinionsMax opinions, padding counted.
std::vector<std::byte> encode_message(const DetectorMessage& message,
                                      ClusterId cluster,
                                      const SipKey& key);

// For whom a message must be.
struct MessageReader {
  ClusterId cluster;
  NodeId self;
};

// By any of the keys.
DecodedMessage decode_message(std::span<const std::byte> bytes,
                              const MessageReader& own,
                              std::span<const SipKey> keys);

// The same in a cluster without a secret.
std::vector<std::byte> encode_message(const DetectorMessage& message, ClusterId cluster);
DecodedMessage decode_message(std::span<const std::byte> bytes, ClusterId cluster, NodeId self);

}  // namespace gcoord::membership
