// The frames of a handshake with proofs, as bytes (docs/adr/0120).
//
// A Challenge is a frame of one slot: a nonce, and ids of keys; the caller offers those that it
// has, the called side names the one that both prove by, or none. A Proven frame has one slot with
// the MAC, and as its only extent a whole other frame: the Hello, Welcome or Refusal that nodes
// without a secret send alone. Pure; what arrives is judged, never asserted on. Never renumber.
#pragma once

#include "netcore/channel/frame.h"
#include "netcore/proof/keys.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::netcore {

inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kProofBytes = 32;
inline constexpr std::size_t kChallengeBytes = kFrameHeaderBytes + kSlotBytes;

// HMAC with SHA-256. Another algorithm gets another number.
inline constexpr std::uint8_t kProofAlgorithm = 1;

using Nonce = std::array<std::byte, kNonceBytes>;
using ProofMac = std::array<std::byte, kProofBytes>;

struct Challenge {
  ClusterId cluster;
  NodeId from;
  NodeId to;
  ProofKeyIds keys{};
  Nonce nonce{};
};

void encode_challenge(const Challenge& challenge, std::span<std::byte, kChallengeBytes> out);

// Reads a decoded frame; None fills `challenge`.
DropReason decode_challenge(const FrameView& frame, Challenge& challenge);

// A frame that arrived inside another one, with its MAC.
struct ProvenFrame {
  ProofMac mac{};
  std::size_t length = 0;
  alignas(kSlotBytes) std::array<std::byte, kStrangerBytesMax> bytes;

  std::span<const std::byte> inner() const { return std::span{bytes}.first(length); }
};

// The longest frame that fits into a Proven one: a refusal with all of its text does.
inline constexpr std::size_t kInnerBytesMax =
    kStrangerBytesMax - kFrameHeaderBytes - 2 * kSlotBytes;

// `inner` is a whole frame, whose ids the outer one repeats. Returns the length of the Proven one.
std::size_t encode_proven(std::span<const std::byte> inner,
                          std::span<const std::byte, kProofBytes> mac,
                          std::span<std::byte, kStrangerBytesMax> out);

// Reads a decoded frame; None fills `proven`. The inner bytes are not judged yet.
DropReason decode_proven(const FrameView& frame, ProvenFrame& proven);

}  // namespace gcoord::netcore
