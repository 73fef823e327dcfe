#include "netcore/proof/proven_frames.h"

#include "common/assert.h"

#include <algorithm>
#include <cstring>

namespace gcoord::netcore {
namespace {

// The slot of a challenge, as it lies on the wire.
struct ChallengeBody {
  std::uint8_t algorithm = kProofAlgorithm;
  std::uint8_t reserved[7] = {};
  std::uint64_t keys[2] = {};
  std::byte nonce[kNonceBytes] = {};
  std::uint8_t rest[8] = {};
};

static_assert(sizeof(ChallengeBody) == kSlotBytes);

// The slot of a proven frame.
struct ProvenBody {
  std::uint8_t algorithm = kProofAlgorithm;
  std::uint8_t reserved[31] = {};
  std::byte mac[kProofBytes] = {};
};

static_assert(sizeof(ProvenBody) == kSlotBytes);

bool all_zero(std::span<const std::uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t each) { return each == 0; });
}

}  // namespace

void encode_challenge(const Challenge& challenge, std::span<std::byte, kChallengeBytes> out) {
  FrameHeader header;
  header.kind = FrameKind::Challenge;
  header.band = Band::Control;
  header.cluster = challenge.cluster.value;
  header.from_node = static_cast<std::uint16_t>(challenge.from.value);
  header.to_node = static_cast<std::uint16_t>(challenge.to.value);
  ChallengeBody body;
  std::copy(challenge.keys.begin(), challenge.keys.end(), body.keys);
  std::copy(challenge.nonce.begin(), challenge.nonce.end(), body.nonce);
  Slot slot;
  std::memcpy(&slot, &body, sizeof(slot));
  encode_frame(header, {&slot, 1}, {}, 0, out);
}

DropReason decode_challenge(const FrameView& frame, Challenge& challenge) {
  const FrameHeader& header = frame.header;
  if (header.kind != FrameKind::Challenge) {
    return DropReason::UnexpectedKind;
  }
  if (frame.slots.size() != 1 || !frame.payloads.empty()) {
    return DropReason::BadLength;
  }
  ChallengeBody body;
  std::memcpy(&body, frame.slots.front().bytes, sizeof(body));
  const bool one_of_each = body.keys[0] != body.keys[1] || body.keys[0] == 0;
  if (body.algorithm != kProofAlgorithm || !all_zero(body.reserved) || !all_zero(body.rest) ||
      !one_of_each || header.from_node == 0) {
    return DropReason::BadField;
  }
  challenge.cluster = ClusterId{header.cluster};
  challenge.from = NodeId{header.from_node};
  challenge.to = NodeId{header.to_node};
  std::copy(std::begin(body.keys), std::end(body.keys), challenge.keys.begin());
  std::copy(std::begin(body.nonce), std::end(body.nonce), challenge.nonce.begin());
  return DropReason::None;
}

std::size_t encode_proven(std::span<const std::byte> inner,
                          std::span<const std::byte, kProofBytes> mac,
                          std::span<std::byte, kStrangerBytesMax> out) {
  GCOORD_ASSERT(inner.size() >= kFrameHeaderBytes);
  GCOORD_ASSERT(inner.size() <= kInnerBytesMax);
  FrameHeader carried;
  std::memcpy(&carried, inner.data(), sizeof(carried));
  FrameHeader header;
  header.kind = FrameKind::Proven;
  header.band = Band::Control;
  header.cluster = carried.cluster;
  header.from_node = carried.from_node;
  header.to_node = carried.to_node;
  ProvenBody body;
  std::copy(mac.begin(), mac.end(), body.mac);
  Slot slot;
  std::memcpy(&slot, &body, sizeof(slot));
  const PayloadExtent extent{0, inner};
  const std::size_t bytes = frame_bytes(1, {&extent, 1});
  encode_frame(header, {&slot, 1}, {&extent, 1}, 0, out.first(bytes));
  return bytes;
}

DropReason decode_proven(const FrameView& frame, ProvenFrame& proven) {
  if (frame.header.kind != FrameKind::Proven) {
    return DropReason::UnexpectedKind;
  }
  if (frame.slots.size() != 1 || frame.payloads.size() != 1) {
    return DropReason::BadLength;
  }
  const PayloadExtent extent = *frame.payloads.begin();
  if (extent.bytes.size() < kFrameHeaderBytes || extent.bytes.size() > kInnerBytesMax) {
    return DropReason::BadLength;
  }
  FrameHeader carried;
  std::memcpy(&carried, extent.bytes.data(), sizeof(carried));
  const bool same_ids = carried.cluster == frame.header.cluster &&
                        carried.from_node == frame.header.from_node &&
                        carried.to_node == frame.header.to_node;
  ProvenBody body;
  std::memcpy(&body, frame.slots.front().bytes, sizeof(body));
  if (body.algorithm != kProofAlgorithm || !all_zero(body.reserved) || !same_ids) {
    return DropReason::BadField;
  }
  std::copy(std::begin(body.mac), std::end(body.mac), proven.mac.begin());
  std::copy(extent.bytes.begin(), extent.bytes.end(), proven.bytes.begin());
  proven.length = extent.bytes.size();
  return DropReason::None;
}

}  // namespace gcoord::netcore
