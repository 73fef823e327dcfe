// The handshake: Hello from the side that calls, Welcome or Refusal from the side that is called.
//
// A greeting is a frame of the Control band with one slot. Cluster, node and incarnation stand in
// the frame header; the slot adds the data directory, the ring sizes and the epoch. The caller
// proposes an epoch later than any it has seen with this peer (netcore/memory/epoch.h); the called
// side answers with one that is at least that and later than any it has seen itself. Pure functions
// over bytes; what arrives is judged, never asserted on.
#pragma once

#include "netcore/channel/frame.h"
#include "netcore/memory/admission.h"
#include "netcore/memory/epoch.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gcoord::netcore {

// Raised when the meaning of frames changes; nodes of different protocols refuse each other.
inline constexpr std::uint32_t kPeerProtocol = 2;

inline constexpr std::size_t kRefusalTextBytesMax = 512;

// The last epoch that a greeting may claim; then they go round. Some four million lives
// of each of two nodes (common/incarnation.h), with 256 epochs each, make as many.
inline constexpr std::uint32_t kEpochMax = kEpochCount;

// A greeting as both sides understand it.
struct Greeting {
  PeerIdentity from;
  NodeId to;
  std::uint32_t protocol = kPeerProtocol;
  std::uint32_t epoch = 0;  // Hello: the least acceptable; Welcome: the channel's.
  std::array<std::uint32_t, kBandCount> ring_slots{};
  // The cluster whose place the own one took; 0: none. Only of the side that judges: never sent.
  ClusterId former;
};

// Encoded greetings are this long; a refusal may be longer, up to kStrangerBytesMax.
inline constexpr std::size_t kGreetingBytes = kFrameHeaderBytes + kSlotBytes;

// `kind` is Hello or Welcome.
void encode_greeting(FrameKind kind,
                     const Greeting& greeting,
                     std::span<std::byte, kGreetingBytes> out);

// Reads a decoded frame of kind Hello or Welcome; None fills `greeting`.
DropReason decode_greeting(const FrameView& frame, Greeting& greeting);

// The refusal as a frame, in `out`; returns its length. The text is cut to kRefusalTextBytesMax.
std::size_t encode_refusal(const Greeting& from,
                           const Refusal& refusal,
                           std::span<std::byte, kStrangerBytesMax> out);

// Reads a decoded frame of kind Refusal. Bytes that are not printable ASCII become '?': the text
// goes to logs and terminals.
DropReason decode_refusal(const FrameView& frame, Refusal& refusal);

// What the called side knows of the caller when a Hello arrives.
struct CallerRecord {
  bool is_configured = false;
  bool is_removed = false;     // It has left the cluster for good.
  bool is_up = false;          // A channel to this node lives.
  bool is_calling_it = false;  // This node has a call of its own under way.
  Incarnation incarnation;     // Newest life met; 0 if none.
  DirectoryId directory;       // Of that life.
  std::uint64_t life = 0;      // The same; 0 if not known.
  std::uint32_t epoch = 0;     // Newest epoch with this node; 0 if none.
};

// netcore's own judgement of a Hello (admission.h); the admit hook is asked after it.
Admission judge_hello(const Greeting& hello, const Greeting& self, const CallerRecord& caller);

// The same for the Welcome that answers a call to `expected`.
Admission judge_welcome(const Greeting& welcome,
                        const Greeting& self,
                        const CallerRecord& expected);

// The epoch of a channel that is being opened: later than newest_seen, and than every one that the
// caller has seen unless the two remember epochs half of the circle apart; and, should both have
// forgotten in a restart, greater by their incarnations. Whatever a greeting claims, there is one.
std::uint32_t next_epoch(const Greeting& hello, Incarnation self, std::uint32_t newest_seen);

}  // namespace gcoord::netcore
