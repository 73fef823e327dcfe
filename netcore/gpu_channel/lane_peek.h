// One thread's look at an end of a lane: would its next call bring something?
//
// The ends of a lane are worked by groups, in registers (lane_receiver.h, lane_sender.h). Who waits
// for many lanes at once gives each look to a thread of its own, and such a look needs no more than
// a view: the end's cursors, from its state, and the place in this side's memory where the peer's
// answer comes. It waits for nothing, changes nothing and counts nothing.
//
// What it says agrees with what the end would do at that moment, peers that write garbage included
// (tests/netcore/gpu_channel/lane_peek_test.cc compares them on whatever bytes a peer may leave):
//
//   Ready    poll(1) takes the next place, or there is room for slots_min slots (has_room_for). One
//            kind of slot is taken and not delivered: one of an epoch that differs beyond its
//            stamp, which is dropped and counted.
//   Broken   the end has stopped, or would reset the channel: what lies there no correct peer left.
//   Nothing  anything else; what another channel left behind (stale), too.
//
// A hostile peer may take back what was seen. So who was told Ready and then finds nothing says so
// to the end (LaneReceiver::on_vanished, LaneSender::on_vanished), which resets the channel: see
// poll_lane.h. Host and device; called by any one thread.
#pragma once

#include "common/hd.h"
#include "netcore/gpu_channel/lane.h"
#include "netcore/gpu_channel/lane_receiver.h"
#include "netcore/gpu_channel/lane_sender.h"

#include <cstdint>

namespace gcoord::netcore {

enum class LanePeek : std::uint8_t { Nothing, Ready, Broken };

// Of a receiving end, as it stands after its last call.
struct ReceiverView {
  const SealedSlot* slots = nullptr;  // The ring, in memory of this side.
  std::uint64_t received = 0;
  std::uint64_t slots_end = 0;  // The cursor up to which the peer was granted places.
  std::uint64_t payload_received = 0;
  std::uint64_t payload_end = 0;  // Likewise, in bytes.
  std::uint32_t payload_capacity = 0;
  std::uint32_t slot_shift = 0;
  std::uint32_t stamp_bits = 0;
  std::uint32_t epoch = 0;
  std::uint32_t broken = 0;
};

// Of a sending end, and what room is asked for.
struct SenderView {
  const Packet* grant = nullptr;  // In memory of this side.
  std::uint64_t sent = 0;
  std::uint64_t consumed = 0;
  std::uint64_t payload_sent = 0;
  std::uint64_t payload_consumed = 0;
  std::uint32_t ring_slots = 0;
  std::uint32_t payload_capacity = 0;
  std::uint32_t epoch = 0;
  std::uint32_t slots_min = 1;
  std::uint32_t payload_bytes = 0;  // Of each slot.
  CreditClass kind = CreditClass::Ordinary;
  std::uint8_t broken = 0;
};

// What a sender wants to be told of. Payload: of one slot, since several may never fit at once.
struct SenderWants {
  std::uint32_t slots_min = 1;
  std::uint32_t payload_bytes = 0;
  CreditClass kind = CreditClass::Ordinary;
};

// The cursors of a view, brought up to date after its end was used.
GCOORD_HD inline void follow(ReceiverView& view, const LaneReceiverState& state) {
  view.received = state.credit.received;
  view.slots_end = state.credit.told + state.credit.capacity;
  view.payload_received = state.payload_received;
  view.payload_end = state.payload_told + view.payload_capacity;
  view.broken = state.broken;
}

GCOORD_HD inline void follow(SenderView& view, const LaneSenderState& state) {
  view.sent = state.credit.sent;
  view.consumed = state.credit.consumed;
  view.payload_sent = state.payload_sent;
  view.payload_consumed = state.payload_consumed;
  view.broken = state.broken != 0 ? 1 : 0;
}

GCOORD_HD inline ReceiverView receiver_view(const LaneWires& wires,
                                            const LaneReceiverState& state) {
  ReceiverView view;
  view.slots = wires.own_slots;
  view.payload_capacity = wires.payload_capacity;
  view.slot_shift = wires.slot_shift;
  view.stamp_bits = wires.stamp_bits;
  view.epoch = wires.epoch;
  follow(view, state);
  return view;
}

GCOORD_HD inline SenderView sender_view(const LaneWires& wires,
                                        const LaneSenderState& state,
                                        const SenderWants& wants) {
  SenderView view;
  view.grant = wires.own_credit;
  view.ring_slots = state.credit.capacity;
  view.payload_capacity = wires.payload_capacity;
  view.epoch = wires.epoch;
  view.slots_min = wants.slots_min;
  view.payload_bytes = wants.payload_bytes;
  view.kind = wants.kind;
  follow(view, state);
  return view;
}

// Can such room ever be found? One that cannot would be waited for in vain.
GCOORD_HD inline bool can_be_ready(const SenderView& view) {
  const std::uint32_t kept = view.kind == CreditClass::Control ? 0 : kControlReserveSlots;
  const bool slots_fit = view.slots_min != 0 && view.slots_min <= kTileSlots &&
                         view.slots_min + kept <= view.ring_slots;
  const bool payload_fits =
      view.payload_bytes == 0 ||
      (view.slots_min == 1 && is_lane_payload(view.payload_bytes, view.payload_capacity));
  return slots_fit && payload_fits;
}

// A wish that can be met, as one word; no two of them share it, and none is 0.
GCOORD_HD inline std::uint32_t wish_word(const SenderView& view) {
  static_assert(kTileSlots < 1u << 7 && kLanePayloadBytesMax < 1u << 24);
  const std::uint32_t of_kind = view.kind == CreditClass::Control ? 1u << 7 : 0;
  return view.slots_min | of_kind | view.payload_bytes << 8;
}

// What the packets of the next slot say: all new, or one of them impossible.
GCOORD_HD inline LanePeek look_at_stamps(const ReceiverView& view,
                                         const Packet (&packet)[kSlotPackets]) {
  const std::uint64_t lap = slot_lap(view.received, view.slot_shift);
  const auto expected = view.stamp_bits | static_cast<std::uint32_t>(lap & 0xffff);
  const auto before =
      lap == 0 ? 0 : view.stamp_bits | static_cast<std::uint32_t>((lap - 1) & 0xffff);
  std::uint32_t arrived = 0;
  bool is_foreign = false;
  GCOORD_UNROLL
  for (std::uint32_t part = 0; part < kSlotPackets; ++part) {
    const std::uint32_t stamp = packet[part].stamp;
    arrived += stamp == expected ? 1u : 0u;
    is_foreign = is_foreign || (stamp != expected && stamp != before && stamp != 0 &&
                                same_epoch_tag(stamp, view.epoch));
  }
  if (arrived == kSlotPackets) {
    return LanePeek::Ready;
  }
  return is_foreign ? LanePeek::Broken : LanePeek::Nothing;
}

// As LaneReceiver judges the header of a slot that arrived whole.
GCOORD_HD inline LanePeek look_at_header(const ReceiverView& view, const Packet& header) {
  const std::uint32_t bytes = header.word[kPayloadBytesWord];
  bool is_sound = view.received + 1 <= view.slots_end;
  if (bytes != 0 && header.word[kEpochWord] == view.epoch) {
    is_sound =
        is_sound && is_lane_payload(bytes, view.payload_capacity) &&
        place_payload(view.payload_received, bytes, view.payload_capacity).end <= view.payload_end;
  }
  return is_sound ? LanePeek::Ready : LanePeek::Broken;
}

// Six loads of memory of this side, all in flight at once.
GCOORD_HD inline LanePeek look_at(const ReceiverView& view) {
  if (view.broken != 0) {
    return LanePeek::Broken;
  }
  const SealedSlot& slot = view.slots[slot_place(view.received, view.slot_shift)];
  Packet packet[kSlotPackets];
  GCOORD_UNROLL
  for (std::uint32_t part = 0; part < kSlotPackets; ++part) {
    packet[part] = SystemOrder::take(slot.packet[part]);
  }
  const LanePeek look = look_at_stamps(view, packet);
  return look == LanePeek::Ready ? look_at_header(view, packet[kHeaderPart]) : look;
}

// How many of the wanted slots fit, as far as the view's cursors tell.
GCOORD_HD inline bool has_room(const SenderView& view) {
  const CreditSender credit{view.sent, view.consumed, view.ring_slots};
  if (credit.available(view.kind) < view.slots_min) {
    return false;
  }
  return view.payload_bytes == 0 ||
         place_payload(view.payload_sent, view.payload_bytes, view.payload_capacity).end -
                 view.payload_consumed <=
             view.payload_capacity;
}

// At most one load, of the grant that the peer pushed here; none while what is known suffices. The
// end looks again, and then with the order that reusing its places needs.
GCOORD_HD inline LanePeek look_at(const SenderView& view) {
  if (view.broken != 0) {
    return LanePeek::Broken;
  }
  if (has_room(view)) {
    return LanePeek::Ready;
  }
  const Packet grant = SystemOrder::take(*view.grant);
  if (grant.stamp != packet_stamp(view.epoch, 0) || grant.word[2] != view.epoch) {
    return LanePeek::Nothing;  // No grant yet, or another channel's.
  }
  const std::uint64_t told_payload =
      kPayloadAlignment * widen_cursor(grant.word[1], view.payload_consumed / kPayloadAlignment);
  CreditSender credit{view.sent, view.consumed, view.ring_slots};
  if (credit.on_consumed(grant.word[0]) == CursorVerdict::Overrun ||
      told_payload > view.payload_sent) {
    return LanePeek::Broken;
  }
  SenderView known = view;
  known.consumed = credit.consumed;
  known.payload_consumed =
      told_payload > view.payload_consumed ? told_payload : view.payload_consumed;
  return has_room(known) ? LanePeek::Ready : LanePeek::Nothing;
}

}  // namespace gcoord::netcore
