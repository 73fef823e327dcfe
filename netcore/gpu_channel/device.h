// Device-side handle of a channel: plain pointers, passed by value (the host's half is
// gpu_channel.h, which owns the memory).
//
// A group opens one end of one lane, works with it, and closes it:
//
//   LaneSender sender = open_sender(channel, Band::Consensus, lane);
//   ... reserve, write, publish ...
//   close_sender(channel, Band::Consensus, lane, sender);
//
// One group per lane end at a time, over all kernels that run: a lane end has one writer. The
// liveness word is a slot of its own that overwrites itself, never behind anything; one group per
// node writes it. Host and device: a host thread that holds the other end of pinned memory uses the
// same functions with the same handle.
//
// Everything here is trusted memory of this node except `own_region`, which the peer may write at
// any time and with anything; only lane_receiver.h, lane_sender.h and pull_heartbeat read it, and
// they judge what they read. Nothing is read from `peer_region`: a load across NVLink stalls its
// warp for a microsecond (O9 of docs/internals/memory_order.md).
//
// A handle is good for one epoch. When a wait answers EpochChanged, Aborted or ChannelReset, the
// kernel stops using it and leaves; the host makes a new channel and launches or feeds it anew.
#pragma once

#include "common/hd.h"
#include "netcore/channel/liveness.h"
#include "netcore/gpu_channel/lane_layout.h"
#include "netcore/gpu_channel/lane_receiver.h"
#include "netcore/gpu_channel/lane_sender.h"
#include "netcore/memory/bounded_wait.h"

#include <cstdint>

namespace gcoord::netcore {

// About 130 bytes: it fits a kernel's parameters many times over.
struct GpuChannelDevice {
  LaneLayoutOptions layout;
  std::byte* own_region = nullptr;        // The peer writes here; polled by this side.
  std::byte* peer_region = nullptr;       // This side pushes there and never reads.
  LaneState* states = nullptr;            // One per lane, private.
  LaneReport* sent = nullptr;             // One per lane; what the sending ends count.
  LaneReport* received = nullptr;         // One per lane; what the receiving ends count.
  ChannelControl* control = nullptr;      // Private: waiters look here.
  std::uint64_t* fault_notice = nullptr;  // Pinned: for the host, pushed by whoever finds a fault.
  std::uint32_t epoch = 0;                // Not 0; the one in the control word while it lives.
};

// The pointers of one lane, computed and not stored: a channel may have thousands of lanes. Asserts
// that the lane exists, because lanes are chosen by this node.
GCOORD_HD inline LaneWires wires_of(const GpuChannelDevice& channel,
                                    Band band,
                                    std::uint32_t lane) {
  const BandLanes& lanes = channel.layout.band[static_cast<std::size_t>(band)];
  GCOORD_ASSERT(lane < lanes.lane_count);
  const std::size_t grant = grant_offset(lane_number(channel.layout, band, lane));
  const std::size_t slots = slots_offset(channel.layout, band, lane);
  const std::size_t payload = slots + whole_lines(lanes.ring_slots * sizeof(SealedSlot));
  LaneWires wires;
  wires.peer_slots = reinterpret_cast<SealedSlot*>(channel.peer_region + slots);
  wires.peer_payload = channel.peer_region + payload;
  wires.peer_credit = reinterpret_cast<Packet*>(channel.peer_region + grant);
  wires.own_slots = reinterpret_cast<SealedSlot*>(channel.own_region + slots);
  wires.own_payload = channel.own_region + payload;
  wires.own_credit = reinterpret_cast<Packet*>(channel.own_region + grant);
  wires.slot_shift = leading_run(lanes.ring_slots - 1, 32);  // Of a power of two.
  wires.payload_capacity = lanes.payload_bytes;
  wires.epoch = channel.epoch;
  wires.stamp_bits = epoch_bits(channel.epoch);
  wires.control = channel.control;
  wires.fault_notice = channel.fault_notice;
  return wires;
}

// What a bounded wait on this channel looks at; `deadline_ns` is on this side's device_now_ns().
GCOORD_HD inline WaitGate gate_of(const GpuChannelDevice& channel, std::uint64_t deadline_ns) {
  return {channel.control, channel.epoch, deadline_ns};
}

// The sending end of a lane, as the last group left it. Costs a load of 64 bytes: open once per
// kernel, not once per slot.
GCOORD_HD inline LaneSender open_sender(const GpuChannelDevice& channel,
                                        Band band,
                                        std::uint32_t lane) {
  const std::uint32_t number = lane_number(channel.layout, band, lane);
  return {wires_of(channel, band, lane), &channel.sent[number], channel.states[number].sender};
}

// Stores the end's state for the next group and not its report, which may lie across PCIe: for who
// works many ends in turn, opening and resting each again and again, and counts for itself.
GCOORD_HD inline void rest_sender(const GpuChannelDevice& channel,
                                  Band band,
                                  std::uint32_t lane,
                                  const LaneSender& sender) {
  warp_sync();
  if (warp_rank() == 0) {
    channel.states[lane_number(channel.layout, band, lane)].sender = sender.state();
  }
  warp_sync();
}

// Stores the end's state for the next group and brings its report up to date. A group that leaves
// without closing loses its cursors, and the lane with them.
GCOORD_HD inline void close_sender(const GpuChannelDevice& channel,
                                   Band band,
                                   std::uint32_t lane,
                                   LaneSender& sender) {
  sender.finish();
  rest_sender(channel, band, lane, sender);
}

// As open_sender, of the receiving end.
GCOORD_HD inline LaneReceiver open_receiver(const GpuChannelDevice& channel,
                                            Band band,
                                            std::uint32_t lane) {
  const std::uint32_t number = lane_number(channel.layout, band, lane);
  return {
      wires_of(channel, band, lane), &channel.received[number], channel.states[number].receiver};
}

// As rest_sender, of the receiving end.
GCOORD_HD inline void rest_receiver(const GpuChannelDevice& channel,
                                    Band band,
                                    std::uint32_t lane,
                                    const LaneReceiver& receiver) {
  warp_sync();
  if (warp_rank() == 0) {
    channel.states[lane_number(channel.layout, band, lane)].receiver = receiver.state();
  }
  warp_sync();
}

// As close_sender, of the receiving end. What was released and not yet granted is granted later:
// the state remembers it.
GCOORD_HD inline void close_receiver(const GpuChannelDevice& channel,
                                     Band band,
                                     std::uint32_t lane,
                                     LaneReceiver& receiver) {
  receiver.finish();
  rest_receiver(channel, band, lane, receiver);
}

// The liveness word as the first words of a sealed slot; the others are zeros. Never renumber.
inline constexpr std::uint32_t kLivenessWords = 7;

GCOORD_HD inline std::uint32_t liveness_word(const Heartbeat& heartbeat, std::uint32_t word) {
  const std::uint32_t words[kLivenessWords] = {
      static_cast<std::uint32_t>(heartbeat.send_tick.value),
      static_cast<std::uint32_t>(heartbeat.send_tick.value >> 32),
      static_cast<std::uint32_t>(heartbeat.echoed_peer_send_tick.value),
      static_cast<std::uint32_t>(heartbeat.echoed_peer_send_tick.value >> 32),
      heartbeat.incarnation.value,
      heartbeat.echoed_incarnation.value,
      heartbeat.flags};
  return word < kLivenessWords ? words[word] : 0;
}

// Pushes the liveness word. `sequence` grows by one with every word of this epoch, from 1. The six
// packets carry its low 16 bits: a reader that meets two words at once reads neither.
GCOORD_HD inline void push_heartbeat(const GpuChannelDevice& channel,
                                     const Heartbeat& heartbeat,
                                     std::uint64_t sequence) {
  auto* slot = reinterpret_cast<SealedSlot*>(channel.peer_region + kLivenessOffset);
  for (std::uint32_t part = warp_rank(); part < kSlotPackets; part += warp_lanes()) {
    Packet packet;
    for (std::uint32_t word = 0; word < kPacketWords; ++word) {
      packet.word[word] = liveness_word(heartbeat, part * kPacketWords + word);
    }
    if (part == kHeaderPart) {
      packet.word[kEpochWord] = channel.epoch;
    }
    packet.stamp = packet_stamp(channel.epoch, sequence);
    SystemOrder::put(slot->packet[part], packet);
  }
}

// The peer's newest liveness word into `heartbeat`, if it is newer than `sequence`, which then
// becomes its low 16 bits. False: none, the same, one of another epoch, or one that is still
// arriving. One thread, not a group: it is read between polls.
GCOORD_HD inline bool pull_heartbeat(const GpuChannelDevice& channel,
                                     Heartbeat& heartbeat,
                                     std::uint32_t& sequence) {
  const auto* slot = reinterpret_cast<const SealedSlot*>(channel.own_region + kLivenessOffset);
  Packet packet[kSlotPackets];
  bool whole = true;
  for (std::uint32_t part = 0; part < kSlotPackets; ++part) {
    packet[part] = SystemOrder::take(slot->packet[part]);
    whole = whole && packet[part].stamp == packet[0].stamp;
  }
  const std::uint32_t stamp = packet[0].stamp;
  const bool of_this_channel = stamp != 0 && same_epoch_tag(stamp, channel.epoch) &&
                               packet[kHeaderPart].word[kEpochWord] == channel.epoch;
  if (!whole || !of_this_channel || (stamp & 0xffff) == sequence) {
    return false;
  }
  sequence = stamp & 0xffff;
  heartbeat.send_tick = Tick{packet[0].word[0] | std::uint64_t{packet[0].word[1]} << 32};
  heartbeat.echoed_peer_send_tick =
      Tick{packet[0].word[2] | std::uint64_t{packet[1].word[0]} << 32};
  heartbeat.incarnation = Incarnation{packet[1].word[1]};
  heartbeat.echoed_incarnation = Incarnation{packet[1].word[2]};
  heartbeat.flags = packet[2].word[0];
  return true;
}

}  // namespace gcoord::netcore
