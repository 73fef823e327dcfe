// Frames to test with: built from a few numbers, kept on a 64-byte boundary.
#pragma once

#include "netcore/channel/frame.h"
#include "netcore/memory/aligned_bytes.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace gcoord::netcore {

// A slot whose bytes all follow from one number.
inline Slot sample_slot(std::uint32_t number) {
  Slot slot;
  for (std::size_t i = 0; i < kSlotBytes; ++i) {
    slot.bytes[i] = static_cast<std::byte>(number * 31 + i);
  }
  return slot;
}

inline bool same_slot(const Slot& a, const Slot& b) {
  return std::memcmp(a.bytes, b.bytes, kSlotBytes) == 0;
}

inline std::vector<std::byte> sample_bytes(std::uint32_t number, std::size_t length) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i) {
    bytes[i] = static_cast<std::byte>(number * 17 + i * 7);
  }
  return bytes;
}

// An encoded frame with its parts, so that a test can compare.
struct SampleFrame {
  FrameHeader header;
  std::vector<Slot> slots;
  std::vector<std::vector<std::byte>> payloads;
  std::vector<PayloadExtent> extents;
  AlignedBytes bytes;
  std::size_t length = 0;

  std::span<std::byte> span() const { return {bytes.data(), length}; }
};

// `payload_bytes[i]` are the lengths of the extents of slot i % slot_count, in order.
inline SampleFrame make_sample(std::uint32_t slot_count,
                               const std::vector<std::size_t>& payload_bytes = {},
                               Band band = Band::Consensus) {
  SampleFrame sample;
  sample.header.band = band;
  sample.header.cluster = 77;
  sample.header.from_node = 1;
  sample.header.to_node = 2;
  sample.header.incarnation = 5;
  sample.header.epoch = 9;
  sample.header.sequence = 1234;
  sample.header.consumed = {1, 2, 3, 4};
  for (std::uint32_t i = 0; i < slot_count; ++i) {
    sample.slots.push_back(sample_slot(i));
  }
  for (std::size_t i = 0; i < payload_bytes.size(); ++i) {
    sample.payloads.push_back(sample_bytes(static_cast<std::uint32_t>(i), payload_bytes[i]));
  }
  for (std::size_t i = 0; i < payload_bytes.size(); ++i) {
    const auto slot_index = static_cast<std::uint32_t>(i * slot_count / payload_bytes.size());
    sample.extents.push_back({slot_index, sample.payloads[i]});
  }
  sample.length = frame_bytes(slot_count, sample.extents);
  sample.bytes.reserve(sample.length, 0);
  encode_frame(sample.header, sample.slots, sample.extents, 0, sample.span());
  return sample;
}

}  // namespace gcoord::netcore
