// The sealed slot: a 64-byte message cut into six 16-byte packets, each with its own sequence.
//
// Over NVLink or PCIe one 16-byte store arrives whole, but two stores arrive in any order. A packet
// therefore carries three words of message and a stamp that says where and when it belongs; a
// reader that finds the stamp it waits for has the packet, and six of them are the slot. No flag,
// no fence, one way of latency (O3 of docs/internals/memory_order.md; the idea is NCCL's LL and
// mscclpp's LLPacket, which spend half of the bytes on flags; this spends a third, header
// included).
//
// A stamp names the epoch and the lap of the ring, so what an earlier lap or an earlier channel
// left behind is never taken for new. 0 is never valid. Memory starts as zeros. Never renumber:
// both ends of a channel may be of different builds. Host and device; no state.
#pragma once

#include "common/device/memory_device.h"
#include "common/hd.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::netcore {

inline constexpr std::uint32_t kPacketWords = 3;         // Of message; the fourth is the stamp.
inline constexpr std::uint32_t kSlotPackets = 6;         // 18 words: 16 of message, 2 of header.
inline constexpr std::uint32_t kSlotWords = 16;          // A 64-byte Slot as 32-bit words.
inline constexpr std::uint32_t kHeaderPart = 5;          // The packet that holds the header words.
inline constexpr std::uint32_t kPayloadBytesWord = 1;    // In packet 5: length of the payload.
inline constexpr std::uint32_t kEpochWord = 2;           // In packet 5: all 32 bits of the epoch.
inline constexpr std::uint32_t kEpochTagCount = 0xffff;  // Tags run from 1 to this.

struct alignas(16) Packet {
  std::uint32_t word[kPacketWords] = {};
  std::uint32_t stamp = 0;
};

static_assert(sizeof(Packet) == 16);

struct SealedSlot {
  Packet packet[kSlotPackets];
};

static_assert(sizeof(SealedSlot) == 96);

// The epoch's half of a stamp: its tag in the upper 16 bits.
GCOORD_HD constexpr std::uint32_t epoch_bits(std::uint32_t epoch) {
  return (epoch % kEpochTagCount + 1) << 16;
}

// What the packets of the slot at lap `lap` of a ring carry. 16 bits of each are enough: a place
// only ever holds the lap before, and rings are new memory in every epoch; the header has the whole
// epoch.
GCOORD_HD constexpr std::uint32_t packet_stamp(std::uint32_t epoch, std::uint64_t lap) {
  return epoch_bits(epoch) | static_cast<std::uint32_t>(lap & 0xffff);
}

GCOORD_HD constexpr bool same_epoch_tag(std::uint32_t stamp, std::uint32_t epoch) {
  return stamp >> 16 == packet_stamp(epoch, 0) >> 16;
}

// The stamp lies in the high half: see store_words_system for why.
GCOORD_HD inline Words128 words_of(const Packet& packet) {
  Words128 words;
  words.low = packet.word[0] | std::uint64_t{packet.word[1]} << 32;
  words.high = packet.word[2] | std::uint64_t{packet.stamp} << 32;
  return words;
}

GCOORD_HD inline Packet packet_of(Words128 words) {
  Packet packet;
  packet.word[0] = static_cast<std::uint32_t>(words.low);
  packet.word[1] = static_cast<std::uint32_t>(words.low >> 32);
  packet.word[2] = static_cast<std::uint32_t>(words.high);
  packet.stamp = static_cast<std::uint32_t>(words.high >> 32);
  return packet;
}

}  // namespace gcoord::netcore
