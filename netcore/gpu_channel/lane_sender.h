// The sending end of a lane: reserve, write, publish.
//
//   Reservation place = sender.reserve(count, payload_bytes);  // As many as there is credit for.
//   sender.write(place, i, bytes);                             // Payload of slot i, if there is
//   any. sender.publish(place, source);                             // The slots; the peer sees
//   them now.
//
// What was reserved is published, or cancelled, before the next reserve; it may be reserved ahead,
// so that nothing stands between content and publishing. A group moves at most as many slots at
// once as it has members, 32 on a device; each member stores six packets side by side with its
// neighbours, so a warp's stores are whole lines. A sender object lives in registers, one equal
// copy per member; between two kernels its LaneSenderState rests in memory that no peer can reach.
//
// Contract: one group, called by all its members with equal arguments. Never waits: a reservation
// of 0 slots says that there is no credit, and the caller decides (bounded_wait.h, or emit again in
// a later turn). After a fault it reserves nothing. Host and device.
#pragma once

#include "netcore/gpu_channel/lane.h"

namespace gcoord::netcore {

// All that a sending end knows; a new epoch starts it anew (first_lane_state).
struct LaneSenderState {
  CreditSender credit;
  std::uint64_t payload_sent = 0;
  std::uint64_t payload_consumed = 0;  // As the receiver last told.
  std::uint32_t stale_stamp = 0;       // A stale grant that was counted already.
  std::uint32_t broken = 0;            // Not 0: this end met hostile input and stopped.
};

// A run of places in the peer's ring that this end may write. Empty: no credit.
struct Reservation {
  std::uint64_t first = 0;  // Cursor of the first slot.
  std::uint32_t slot_count = 0;
  std::uint32_t payload_bytes = 0;  // Of every slot of the run; 0 for none.
  std::uint64_t payload_first = 0;  // Payload cursor before the run.
};

class LaneSender {
 public:
  GCOORD_HD LaneSender(const LaneWires& wires, LaneReport* report, const LaneSenderState& state)
      : wires_(wires), report_(report), state_(state) {}

  // To be stored by one member when the group is done, and given to the next sender of this lane:
  // close_sender() does both.
  GCOORD_HD const LaneSenderState& state() const { return state_; }

  // Takes up to `slot_count` slots, each with `payload_bytes` of payload room: as many as there is
  // credit for. Looks at the peer's grant only if what is known does not suffice.
  // CreditClass::Control reaches into the reserve.
  GCOORD_HD Reservation reserve(std::uint32_t slot_count,
                                std::uint32_t payload_bytes = 0,
                                CreditClass kind = CreditClass::Ordinary) {
    GCOORD_ASSERT(slot_count <= warp_lanes());
    GCOORD_ASSERT(is_lane_payload(payload_bytes, wires_.payload_capacity));
    Reservation place = take(slot_count, payload_bytes, kind);
    if (place.slot_count < slot_count && state_.broken == 0) [[unlikely]] {
      refresh();
      const Reservation more = take(slot_count - place.slot_count, payload_bytes, kind);
      if (place.slot_count == 0) {
        place = more;
      } else {
        place.slot_count += more.slot_count;
      }
    }
    if (place.slot_count == 0) {
      ++stalls_;
    }
    return place;
  }

  // Gives back the last reservation, of which nothing was published.
  GCOORD_HD void cancel(const Reservation& place) {
    GCOORD_ASSERT(place.first + place.slot_count == state_.credit.sent);
    state_.credit.sent = place.first;
    state_.payload_sent = place.payload_first;
  }

  // Copies the payload of slot `index` of the run from 16-byte aligned memory; room up to the next
  // multiple of 16 bytes is written too. All members copy, neighbours side by side.
  GCOORD_HD void write(const Reservation& place, std::uint32_t index, const Words128* from) const {
    Words128* to = payload_place(place, index);
    const std::uint32_t words = (place.payload_bytes + 15) / 16;
    for (std::uint32_t i = warp_rank(); i < words; i += warp_lanes()) {
      to[i] = from[i];
    }
  }

  // As write(), from a function of the word's number instead of memory.
  template <typename Source>
  GCOORD_HD void write_from(const Reservation& place,
                            std::uint32_t index,
                            const Source& source) const {
    Words128* to = payload_place(place, index);
    const std::uint32_t words = (place.payload_bytes + 15) / 16;
    for (std::uint32_t i = warp_rank(); i < words; i += warp_lanes()) {
      to[i] = source(i);
    }
  }

  // Makes the slots visible. `source(index, word)` is word 0 to 15 of slot `index` of the run; a
  // member asks for three neighbouring words at a time.
  // The run has at most kSlots: a small constant is less code.
  template <std::uint32_t kSlots = kTileSlots, typename Source>
  GCOORD_HD void publish(const Reservation& place, const Source& source) {
    GCOORD_ASSERT(place.slot_count <= kSlots);
    if (place.payload_bytes != 0) [[unlikely]] {
      // The members' payload stores, ordered before this thread's fence by the sync, and before
      // every packet that any member stores after the second sync: each fences for itself, since
      // only a fence and a store of one thread make a release (O1).
      warp_sync();
      SystemOrder::before_put();
    }
    GCOORD_UNROLL
    for (std::uint32_t row = 0; row < kSlotPackets; ++row) {
      if (is_past(row, kSlots) || is_past(row, place.slot_count)) {
        break;
      }
      const std::uint32_t number = row * warp_lanes() + warp_rank();
      if (number < place.slot_count * kSlotPackets) {
        const std::uint32_t index = number / kSlotPackets;
        const std::uint32_t word = number % kSlotPackets * kPacketWords;
        Packet packet;
        packet.word[0] = source(index, word);
        if (word + 1 < kSlotWords) {
          packet.word[1] = source(index, word + 1);
          packet.word[2] = source(index, word + 2);
        }
        put(place, index, number % kSlotPackets, packet);
      }
    }
    published_ += place.slot_count;
  }

  // Reserves and publishes slots without payload, as many as there is credit for as far as this end
  // knows; how many. For who knew before that there is.
  template <std::uint32_t kSlots, typename Source>
  GCOORD_HD std::uint32_t publish_known(std::uint32_t slot_count, const Source& source) {
    const Reservation place = take(slot_count, 0, CreditClass::Ordinary);
    publish<kSlots>(place, source);
    return place.slot_count;
  }

  // As publish(), of slots as they were received: packets go on from the registers that hold them.
  // The run is as long as the tile and has no payload.
  GCOORD_HD void publish_tile(const Reservation& place, const SlotTile& tile) {
    GCOORD_ASSERT(place.payload_bytes == 0);
    for (std::uint32_t row = 0; row < kSlotPackets; ++row) {
      if (is_past(row, place.slot_count)) {
        break;
      }
      const std::uint32_t number = row * warp_lanes() + warp_rank();
      if (number < place.slot_count * kSlotPackets) {
        put(place, number / kSlotPackets, number % kSlotPackets, tile.packet[row]);
      }
    }
    published_ += place.slot_count;
  }

  // Slots published by this object; for the caller's report at the end of its work.
  GCOORD_HD std::uint64_t published() const { return published_; }

  // Adds what was done to the lane's report: once per kernel, not once per slot, because the report
  // may lie across PCIe.
  GCOORD_HD void finish() {
    count(report_->slots, published_);
    count(report_->stalls, stalls_);
    published_ = 0;
    stalls_ = 0;
  }

  // The peer granted what was never sent; nothing is reserved any more, and the channel's waits
  // end.
  GCOORD_HD bool broken() const { return state_.broken != 0; }

  // A look (lane_peek.h) saw a grant, and it is not there any more: grants only grow.
  GCOORD_HD void on_vanished() {
    if (state_.broken == 0) {
      state_.broken = 1;
      count(report_->bad_field);
      reset_channel(wires_, DropReason::BadField);
    }
  }

  // How many slots the peer has room for, as far as this end knows.
  GCOORD_HD std::uint32_t credit() const { return state_.credit.available(CreditClass::Ordinary); }

  // As credit(), after a look at the peer's grant if less than `wanted` is known: for who must know
  // before it decides to speak. 0 once broken.
  GCOORD_HD std::uint32_t credit_up_to(std::uint32_t wanted) {
    if (state_.broken == 0 && credit() < wanted) {
      refresh();
    }
    return state_.broken != 0 ? 0 : credit();
  }

  // Whether `slot_count` slots without payload have room, after a look at the peer's grant if what
  // is known does not suffice: more of them than a group reserves at once, too. No counts as a
  // reservation that found no credit.
  GCOORD_HD bool has_room_for(std::uint32_t slot_count, CreditClass kind) {
    if (state_.broken == 0 && state_.credit.available(kind) < slot_count) {
      refresh();
    }
    const bool fits = state_.broken == 0 && state_.credit.available(kind) >= slot_count;
    stalls_ += fits ? 0 : 1;
    return fits;
  }

 private:
  // Where slot `index` of the run has its payload in the peer's ring: found by walking the run,
  // which is short, because a payload that does not fit before the ring's end moves all after it.
  GCOORD_HD Words128* payload_place(const Reservation& place, std::uint32_t index) const {
    std::uint64_t cursor = place.payload_first;
    PayloadAddress at;
    for (std::uint32_t i = 0; i <= index; ++i) {
      at = place_payload(cursor, place.payload_bytes, wires_.payload_capacity);
      cursor = at.end;
    }
    return reinterpret_cast<Words128*>(wires_.peer_payload +
                                       (at.begin & (wires_.payload_capacity - 1)));
  }

  // Completes a packet of message words with header and stamp, and stores it in the peer's ring.
  GCOORD_HD void put(const Reservation& place,
                     std::uint32_t index,
                     std::uint32_t part,
                     Packet packet) const {
    const std::uint64_t cursor = place.first + index;
    if (part == kHeaderPart) {
      packet.word[kPayloadBytesWord] = place.payload_bytes;
      packet.word[kEpochWord] = wires_.epoch;
    }
    packet.stamp = stamp_at(wires_, cursor);
    SystemOrder::put(wires_.peer_slots[slot_place(cursor, wires_.slot_shift)].packet[part], packet);
  }

  // From what is known, without a look at memory.
  GCOORD_HD Reservation take(std::uint32_t slot_count,
                             std::uint32_t payload_bytes,
                             CreditClass kind) {
    const std::uint32_t available = state_.broken != 0 ? 0 : state_.credit.available(kind);
    Reservation place{state_.credit.sent, 0, payload_bytes, state_.payload_sent};
    place.slot_count = slot_count < available ? slot_count : available;
    if (payload_bytes != 0) {
      place.slot_count = take_payload(place.slot_count, payload_bytes);
    }
    state_.credit.take(place.slot_count, kind);
    return place;
  }

  // Room for the payloads of at most `slot_count` slots; how many it is.
  GCOORD_HD std::uint32_t take_payload(std::uint32_t slot_count, std::uint32_t payload_bytes) {
    std::uint32_t taken = 0;
    for (; taken < slot_count; ++taken) {
      const std::uint64_t end =
          place_payload(state_.payload_sent, payload_bytes, wires_.payload_capacity).end;
      if (end - state_.payload_consumed > wires_.payload_capacity) {
        break;
      }
      state_.payload_sent = end;
    }
    return taken;
  }

  // Reads the grant that the peer pushed here. It is absolute, so only the newest counts.
  GCOORD_HD void refresh() {
    Words128 words;
    if (warp_rank() == 0) {
      // Ordered: the peer has read what lies in the places that it gives back.
      words = words_of(SystemOrder::take_ordered(*wires_.own_credit));
    }
    words.low = warp_broadcast(words.low, 0);
    words.high = warp_broadcast(words.high, 0);
    const Packet grant = packet_of(words);
    if (grant.stamp == 0) {
      return;  // Nothing was granted yet.
    }
    if (grant.stamp != packet_stamp(wires_.epoch, 0) || grant.word[2] != wires_.epoch) {
      on_stale(grant.stamp);
      return;
    }
    on_grant(grant);
  }

  // Hostile until judged: cursors may stand still or rise, and never pass what was sent.
  GCOORD_HD void on_grant(const Packet& grant) {
    const std::uint64_t told_units =
        widen_cursor(grant.word[1], state_.payload_consumed / kPayloadAlignment);
    const bool payload_overrun = told_units * kPayloadAlignment > state_.payload_sent;
    if (state_.credit.on_consumed(grant.word[0]) == CursorVerdict::Overrun || payload_overrun) {
      state_.broken = 1;
      count(report_->credit_overrun);
      reset_channel(wires_, DropReason::CreditOverrun);
      return;
    }
    if (told_units * kPayloadAlignment > state_.payload_consumed) {
      state_.payload_consumed = told_units * kPayloadAlignment;
    }
  }

  // Left from another channel, or garbage that looks so: never believed, counted once.
  GCOORD_HD void on_stale(std::uint32_t stamp) {
    if (state_.stale_stamp != stamp) {
      state_.stale_stamp = stamp;
      count(report_->stale_epoch);
    }
  }

  LaneWires wires_;
  LaneReport* report_;
  LaneSenderState state_;
  std::uint64_t published_ = 0;
  std::uint64_t stalls_ = 0;
};

}  // namespace gcoord::netcore
