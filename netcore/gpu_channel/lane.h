// A lane: one ring of a band from one group of threads to one group on another device, and back.
//
// A band of a device channel is striped over lanes, so that many warps send and receive at once
// without sharing anything: a lane has one sending group and one receiving group, its own cursors
// and its own credit. Slots keep their order within a lane and not between lanes; whoever needs
// order (a shard's messages) always takes the same lane. Refused: one ring with a shared cursor per
// band. Its writers would have to wait for each other to publish in order, or to take turns at one
// word 100 million times a second.
//
// Memory (lane_layout.h says where): slots and payload belong to the receiver and are written by
// the sender; the credit packet belongs to the sender and is written by the receiver. Each side
// polls only its own memory and pushes into the other's (O9). Slots are sealed (packet.h), so they
// need no flag; a payload is published by its slot (O1, O2). Credit is netcore/channel/credit.h,
// the same arithmetic as between hosts: absolute cursors, two slots kept back for control. It comes
// back in a packet of its own and is not piggybacked on slots: that packet is one 16-byte store,
// and a slot that carried credit would have to be fenced.
//
// A payload of at most kLanePayloadBytesMax travels in the lane's payload ring, at the next
// 128-byte boundary; one that would cross the ring's end starts at its beginning. Both sides follow
// the same rule, so only the length travels, and there is no address for a peer to lie about.
//
// Everything that a peer writes is judged: a stale slot or grant is dropped and counted, anything
// else that a correct peer cannot write resets the channel (its `fault` word), which ends the waits
// of this channel and of no other. Host and device; a group per object; nothing here waits.
#pragma once

#include "common/assert.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "netcore/channel/credit.h"
#include "netcore/channel/drop_reason.h"
#include "netcore/memory/bounded_wait.h"
#include "netcore/memory/order.h"
#include "netcore/memory/packet.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::netcore {

// Slots that a group moves at once at most, a slot per member of a warp.
inline constexpr std::uint32_t kTileSlots = 32;
inline constexpr std::uint32_t kLanePayloadBytesMax = 16 * 1024;  // Above: rendezvous.
inline constexpr std::uint32_t kPayloadAlignment = 128;           // A line of device memory.
// A payload ring holds four of the largest, so that a grant at every quarter never starves it.
inline constexpr std::uint32_t kPayloadRingBytesMin = 4 * kLanePayloadBytesMax;

// What one end of a lane counts; each has one writer. In memory that the host reads at any time.
struct alignas(64) LaneReport {
  std::uint64_t slots = 0;           // Sent or received, without those dropped.
  std::uint64_t stale_epoch = 0;     // Slots or grants of another channel: dropped.
  std::uint64_t credit_overrun = 0;  // Impossible cursors: the channel was reset.
  std::uint64_t bad_length = 0;      // Impossible payload: the channel was reset.
  std::uint64_t bad_field = 0;       // A slot or grant taken back: the channel was reset.
  std::uint64_t stalls = 0;          // Reservations that found no credit.
  std::uint64_t reserved[2] = {};
};

static_assert(sizeof(LaneReport) == 64);

// Where one end of one lane reads and writes.
struct LaneWires {
  SealedSlot* peer_slots = nullptr;   // Written by this end: the peer's ring.
  std::byte* peer_payload = nullptr;  // Written by this end.
  Packet* peer_credit = nullptr;      // Written by this end: how far it has consumed.
  SealedSlot* own_slots = nullptr;
  std::byte* own_payload = nullptr;
  Packet* own_credit = nullptr;
  std::uint32_t slot_shift = 0;        // The ring has 2^slot_shift slots, at both ends.
  std::uint32_t payload_capacity = 0;  // Bytes, a power of two; 0 when it carries no payload.
  std::uint32_t epoch = 0;
  std::uint32_t stamp_bits = 0;  // epoch_bits(epoch), because a device divides slowly.
  ChannelControl* control = nullptr;
  std::uint64_t* fault_notice = nullptr;  // Pinned: what the host learns of control->fault.
};

// A cursor's place in its ring and its lap: shifts, because a device divides slowly.
GCOORD_HD constexpr std::uint64_t slot_place(std::uint64_t cursor, std::uint32_t slot_shift) {
  return cursor & ((std::uint64_t{1} << slot_shift) - 1);
}

GCOORD_HD constexpr std::uint64_t slot_lap(std::uint64_t cursor, std::uint32_t slot_shift) {
  return cursor >> slot_shift;
}

// What the packets of the slot at `cursor` carry.
GCOORD_HD constexpr std::uint32_t stamp_at(const LaneWires& wires, std::uint64_t cursor) {
  return wires.stamp_bits | static_cast<std::uint32_t>(slot_lap(cursor, wires.slot_shift) & 0xffff);
}

// Absolute positions in a payload ring, in bytes; they count what was skipped at the end, too.
struct PayloadAddress {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

GCOORD_HD constexpr PayloadAddress place_payload(std::uint64_t cursor,
                                                 std::uint32_t bytes,
                                                 std::uint32_t capacity) {
  const std::uint32_t padded = (bytes + kPayloadAlignment - 1) & ~(kPayloadAlignment - 1);
  const auto at = static_cast<std::uint32_t>(cursor & (capacity - 1));
  const std::uint64_t begin = at + padded <= capacity ? cursor : cursor + (capacity - at);
  return {begin, begin + padded};
}

GCOORD_HD constexpr bool is_lane_payload(std::uint32_t bytes, std::uint32_t capacity) {
  return bytes <= kLanePayloadBytesMax && bytes <= capacity;
}

// The 32-bit word that a stretch of payload cursors needs on the wire: multiples of 128.
GCOORD_HD constexpr std::uint32_t payload_units(std::uint64_t cursor) {
  return static_cast<std::uint32_t>(cursor / kPayloadAlignment);
}

// Marks the channel as broken, for its waiters and for the host. Any end may; the first reason
// stays, or one that came at that time.
GCOORD_HD inline void reset_channel(const LaneWires& wires, DropReason reason) {
  if (warp_rank() == 0 && SystemOrder::peek(wires.control->fault) == 0) {
    SystemOrder::raise(wires.control->fault, static_cast<std::uint64_t>(reason));
    SystemOrder::raise(*wires.fault_notice, static_cast<std::uint64_t>(reason));
  }
}

// One member counts; the host may read at the same time.
GCOORD_HD inline void count(std::uint64_t& counter, std::uint64_t added = 1) {
  if (warp_rank() == 0) {
    SystemOrder::raise(counter, SystemOrder::peek(counter) + added);
  }
}

// Is row `row` of packets past the last of so many slots? The same answer for the whole group: a
// single slot costs one row and not six, which is most of a round trip's time on a device.
GCOORD_HD inline bool is_past(std::uint32_t row, std::uint32_t slot_count) {
  return row * warp_lanes() >= slot_count * kSlotPackets;
}

// Slots in the registers of a group: packet `row * members + member` of the run is the member's
// packet[row].
struct SlotTile {
  Packet packet[kSlotPackets];
  std::uint64_t first = 0;  // Cursor of the first slot.
  std::uint32_t slot_count = 0;
  std::uint32_t payload_bytes = 0;  // Not 0 only if slot_count is 1.
  const std::byte* payload = nullptr;

  // f(index, word, value) for every message word that this member holds: index counts slots of the
  // tile, word runs from 0 to 15.
  // The tile was polled for at most kSlots.
  template <std::uint32_t kSlots = kTileSlots, typename Function>
  GCOORD_HD void for_each_word(const Function& f) const {
    GCOORD_UNROLL
    for (std::uint32_t row = 0; row < kSlotPackets; ++row) {
      if (is_past(row, kSlots) || is_past(row, slot_count)) {
        break;
      }
      const std::uint32_t number = row * warp_lanes() + warp_rank();
      const std::uint32_t index = number / kSlotPackets;
      const std::uint32_t part = number % kSlotPackets;
      if (index < slot_count) {
        f(index, part * kPacketWords, packet[row].word[0]);
        if (part != kHeaderPart) {
          f(index, part * kPacketWords + 1, packet[row].word[1]);
          f(index, part * kPacketWords + 2, packet[row].word[2]);
        }
      }
    }
  }
};

}  // namespace gcoord::netcore
