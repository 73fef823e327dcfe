// The receiving end of a lane: poll, read, release.
//
//   SlotTile tile = receiver.poll(max);        // What is there now, at most as many as members.
//   tile.for_each_word(f);                     // Or tile.payload(), if the slot has one.
//   receiver.release(tile);                    // The places are free; the peer is told in time.
//
// poll() copies slots into the group's registers while it looks for them, and they are read nowhere
// else: a peer that changes a slot after it was judged changes nothing. A payload stays in the ring
// until release; it is bytes of unknown content, and its length was judged.
//
// A slot with a payload always comes alone in its tile. Slots without come up to 32 at a time, six
// 16-byte loads per member, all in flight at once. Ask for few where latency counts and for many
// where slots are plenty: polling costs what was asked for.
//
// poll() in two parts, so that a group can look at several lanes at once: look() begins the loads,
// take() waits for them. Code that asks for few slots says so with a constant, for which there is
// less of it: poll<5>, whose packets are one row of a warp.
//
// Contract: one group, called by all members; tiles are released in order, each before the next
// poll. Never waits. After a fault nothing arrives any more. Host and device.
#pragma once

#include "netcore/gpu_channel/lane.h"

namespace gcoord::netcore {

// All that a receiving end knows; a new epoch starts it anew (first_lane_state).
struct LaneReceiverState {
  CreditReceiver credit;
  std::uint64_t payload_received = 0;
  std::uint64_t payload_consumed = 0;
  std::uint64_t payload_told = 0;
  std::uint64_t stale_cursor = 0;  // Cursor + 1 at which a stale slot was counted already.
  std::uint32_t broken = 0;        // Not 0: this end met hostile input and stopped.
  std::uint32_t reserved = 0;
};

class LaneReceiver {
 public:
  GCOORD_HD LaneReceiver(const LaneWires& wires, LaneReport* report, const LaneReceiverState& state)
      : wires_(wires), report_(report), state_(state) {}

  // To be stored by one member when the group is done: close_receiver() does.
  GCOORD_HD const LaneReceiverState& state() const { return state_; }

  // The next slots that have arrived whole, in order, at most `slots_max` and at most one per
  // member. An empty tile: nothing yet, or nothing that a correct peer would have written.
  template <std::uint32_t kSlots = kTileSlots>
  GCOORD_HD SlotTile poll(std::uint32_t slots_max) {
    SlotTile tile = look<kSlots>(slots_max);
    take<kSlots>(tile, slots_max);
    return tile;
  }

  // The packets of the next slots, as far as they lie there; all loads at once.
  template <std::uint32_t kSlots = kTileSlots>
  GCOORD_HD SlotTile look(std::uint32_t slots_max) const {
    const std::uint32_t lanes = warp_lanes();
    const std::uint32_t packets = slots_at_once(slots_max) * kSlotPackets;
    SlotTile tile;
    tile.first = state_.credit.received;
    GCOORD_UNROLL
    for (std::uint32_t row = 0; row < kSlotPackets; ++row) {
      const std::uint32_t number = row * lanes + warp_rank();
      if (is_past(row, kSlots) || row * lanes >= packets) {
        break;
      }
      if (number < packets) {
        tile.packet[row] = SystemOrder::take(*place_of(tile.first, number));
      }
    }
    return tile;
  }

  // How many slots at the front of a look are whole; take() may take fewer.
  template <std::uint32_t kSlots>
  GCOORD_HD std::uint32_t arrived(const SlotTile& tile, std::uint32_t slots_max) const {
    const std::uint32_t lanes = warp_lanes();
    slots_max = slots_at_once(slots_max);
    std::uint32_t whole = 0;
    GCOORD_UNROLL
    for (std::uint32_t row = 0; row < kSlotPackets; ++row) {
      if (is_past(row, kSlots) || is_past(row, slots_max)) {
        break;
      }
      const std::uint32_t run = leading_run(warp_ballot(is_here(tile, row, slots_max)), lanes);
      whole += run;
      if (run != lanes) {
        break;
      }
    }
    return whole / kSlotPackets;
  }

  // This member's share of what lies in front of a look, as a number that changes with it: while
  // all members' stay what they were, a look finds nothing if the one before did.
  GCOORD_HD std::uint64_t in_front(const SlotTile& tile) const {
    std::uint64_t stamps = 0;  // Their sum, which does not wrap.
    GCOORD_UNROLL
    for (std::uint32_t row = 0; row < kSlotPackets; ++row) {
      if (is_past(row, 1)) {
        break;
      }
      stamps += tile.packet[row].stamp;
    }
    return stamps;
  }

  // Whether take() would do nothing with a look: no slot in front is whole, and what lies there
  // is nothing that is yet to be judged. Nothing was taken in between.
  template <std::uint32_t kSlots = kTileSlots>
  GCOORD_HD bool finds_nothing(const SlotTile& tile) const {
    if (state_.broken != 0) {
      return true;
    }
    const Odd odd = odd_in_front(tile);
    const bool judged = state_.stale_cursor == tile.first + 1;
    return warp_ballot(odd.foreign || (odd.stale && !judged)) == 0 && arrived<kSlots>(tile, 1) == 0;
  }

  // How many slots at the front of a look are whole and such that there is nothing to be said about
  // them: they carry no payload, are of this epoch and were granted. 0: none, or take() has to look
  // (finds_nothing). For the looks of a group that has a member for each packet.
  template <std::uint32_t kSlots>
  GCOORD_HD std::uint32_t plain_slots(const SlotTile& tile, std::uint32_t slots_max) const {
    const std::uint32_t lanes = warp_lanes();
    slots_max = slots_at_once(slots_max);
    std::uint32_t plain = 0;
    GCOORD_UNROLL
    for (std::uint32_t row = 0; row < kSlotPackets; ++row) {
      if (is_past(row, kSlots) || is_past(row, slots_max)) {
        break;
      }
      const bool here = is_here(tile, row, slots_max) & !is_special(tile, row, slots_max);
      const std::uint32_t run = leading_run(warp_ballot(here), lanes);
      plain += run;
      if (run != lanes) {
        break;
      }
    }
    const std::uint32_t count = plain / kSlotPackets;
    const bool granted = state_.credit.was_granted(state_.credit.received + count);
    return (state_.broken == 0) & granted ? count : 0;
  }

  // Takes and releases what plain_slots() found; every member has read it. The peer is told by
  // grant_if_due(), which may wait until there is nothing more urgent.
  GCOORD_HD void pass(std::uint32_t slot_count) {
    state_.credit.received += slot_count;
    state_.credit.consume(slot_count);
    released_ += slot_count;
  }

  // Whether it is time to tell the peer of what was passed.
  GCOORD_HD bool owes_grant() const { return state_.credit.wants_grant(); }

  // Tells it then.
  GCOORD_HD void grant_if_due() {
    if (owes_grant()) {
      grant();
    }
  }

  // What of a look arrived whole; nothing was taken in between.
  template <std::uint32_t kSlots = kTileSlots>
  GCOORD_HD void take(SlotTile& tile, std::uint32_t slots_max) {
    GCOORD_ASSERT(tile.first == state_.credit.received);
    if (state_.broken != 0) {
      return;
    }
    tile.slot_count = arrived<kSlots>(tile, slots_max);
    if (tile.slot_count == 0) {
      judge_absent(tile);
      return;
    }
    judge_headers<kSlots>(tile);
    if (tile.slot_count != 0) {
      book(tile);
    }
  }

  // Every member has read what it wanted of the tile. Tells the peer when it is worth a store.
  GCOORD_HD void release(const SlotTile& tile) {
    if (tile.slot_count == 0) {
      return;
    }
    state_.credit.consume(tile.slot_count);
    state_.payload_consumed = state_.payload_received;
    released_ += tile.slot_count;
    const std::uint64_t payload_untold = state_.payload_consumed - state_.payload_told;
    if (state_.credit.wants_grant() || payload_untold * 4 > wires_.payload_capacity) {
      grant();
    }
  }

  // Tells the peer now: before a pause, or when its last few slots should not wait for the next.
  GCOORD_HD void grant() {
    Packet packet;
    packet.word[0] = state_.credit.tell();
    packet.word[1] = payload_units(state_.payload_consumed);
    packet.word[2] = wires_.epoch;
    packet.stamp = packet_stamp(wires_.epoch, 0);
    state_.payload_told = state_.payload_consumed;
    warp_sync();  // All members' loads from the places that are given back come before it.
    if (warp_rank() == 0) {
      SystemOrder::before_put();
      SystemOrder::put(*wires_.peer_credit, packet);
    }
  }

  // Adds what was released to the lane's report: once per kernel, not once per slot.
  GCOORD_HD void finish() {
    count(report_->slots, released_);
    released_ = 0;
  }

  // A look (lane_peek.h) saw the next slot whole, and it is not there any more: only a peer that
  // takes back what it wrote does that.
  GCOORD_HD void on_vanished() {
    if (state_.broken == 0) {
      broken(report_->bad_field, DropReason::BadField);
    }
  }

  // The peer wrote what no correct peer writes; nothing is delivered any more, and the channel's
  // waits end.
  GCOORD_HD bool broken() const { return state_.broken != 0; }

 private:
  GCOORD_HD static std::uint32_t slots_at_once(std::uint32_t slots_max) {
    return slots_max < warp_lanes() ? slots_max : warp_lanes();
  }

  // Packet `number` of the run that starts at `first`, six to a slot.
  GCOORD_HD const Packet* place_of(std::uint64_t first, std::uint32_t number) const {
    const std::uint64_t cursor = first + number / kSlotPackets;
    return &wires_.own_slots[slot_place(cursor, wires_.slot_shift)].packet[number % kSlotPackets];
  }

  // What a member sees in front of a look that no correct peer leaves there.
  struct Odd {
    bool stale;    // Of another epoch.
    bool foreign;  // Of another lap of this one.
  };

  GCOORD_HD Odd odd_in_front(const SlotTile& tile) const {
    const std::uint64_t ring_slots = std::uint64_t{1} << wires_.slot_shift;
    const std::uint32_t expected = stamp_at(wires_, tile.first);
    const std::uint32_t before =
        tile.first < ring_slots ? 0 : stamp_at(wires_, tile.first - ring_slots);
    Odd found{false, false};
    GCOORD_UNROLL
    for (std::uint32_t row = 0; row < kSlotPackets; ++row) {
      if (is_past(row, 1)) {
        break;
      }
      const std::uint32_t stamp = tile.packet[row].stamp;
      const bool first_slot = row * warp_lanes() + warp_rank() < kSlotPackets;
      const bool odd = first_slot && stamp != expected && stamp != before && stamp != 0;
      const bool same_epoch = same_epoch_tag(stamp, wires_.epoch);
      found.stale = found.stale || (odd && !same_epoch);
      found.foreign = found.foreign || (odd && same_epoch);
    }
    return found;
  }

  // Nothing whole at the front: is what lies there what a correct peer leaves?
  GCOORD_HD void judge_absent(const SlotTile& tile) {
    const auto [stale, foreign] = odd_in_front(tile);
    if (warp_ballot(stale || foreign) == 0) [[likely]] {
      return;
    }
    if (warp_ballot(foreign) != 0) {
      // Another lap of this epoch: the peer wrote over a place it had no credit for, or anywhere.
      broken(report_->credit_overrun, DropReason::CreditOverrun);
    } else if (state_.stale_cursor != tile.first + 1) {
      state_.stale_cursor = tile.first + 1;
      count(report_->stale_epoch);
    }
  }

  // Whether this member's packet of a row belongs to one of the first slots and has arrived.
  GCOORD_HD bool is_here(const SlotTile& tile, std::uint32_t row, std::uint32_t slots) const {
    const std::uint32_t number = row * warp_lanes() + warp_rank();
    const std::uint32_t expected = stamp_at(wires_, tile.first + number / kSlotPackets);
    return (number < slots * kSlotPackets) & (tile.packet[row].stamp == expected);
  }

  // Whether this member's packet of a row is the header of one of the first slots that has a
  // payload or a foreign epoch.
  GCOORD_HD bool is_special(const SlotTile& tile, std::uint32_t row, std::uint32_t slots) const {
    const std::uint32_t number = row * warp_lanes() + warp_rank();
    const Packet& packet = tile.packet[row];
    const std::uint32_t odd =
        packet.word[kPayloadBytesWord] | (packet.word[kEpochWord] ^ wires_.epoch);
    return (number < slots * kSlotPackets) & (number % kSlotPackets == kHeaderPart) & (odd != 0);
  }

  // Cuts the tile before the first slot with a payload or a foreign epoch; alone in front, it is
  // judged.
  template <std::uint32_t kSlots>
  GCOORD_HD void judge_headers(SlotTile& tile) {
    const std::uint32_t lanes = warp_lanes();
    std::uint32_t special = tile.slot_count;
    GCOORD_UNROLL
    for (std::uint32_t row = 0; row < kSlotPackets; ++row) {
      if (is_past(row, kSlots) || is_past(row, tile.slot_count)) {
        break;
      }
      const std::uint32_t found = warp_ballot(is_special(tile, row, tile.slot_count));
      if (found != 0) [[unlikely]] {
        special = (row * lanes + leading_run(~found, lanes)) / kSlotPackets;
        break;
      }
    }
    if (special != 0) [[likely]] {
      tile.slot_count = special;
      return;
    }
    judge_first(tile);
  }

  // The slot in front has a payload or a foreign epoch. Its header words are in the member that
  // loaded packet 5; all get them, so that all judge alike.
  GCOORD_HD void judge_first(SlotTile& tile) {
    const std::uint32_t row = kHeaderPart / warp_lanes();  // Row 0 on a device, 5 on the host.
    const std::uint32_t holder = kHeaderPart % warp_lanes();
    const Packet& mine = warp_lanes() == 1 ? tile.packet[kHeaderPart] : tile.packet[0];
    GCOORD_ASSERT(row == 0 || row == kHeaderPart);
    const std::uint32_t bytes = warp_broadcast(mine.word[kPayloadBytesWord], holder);
    const std::uint32_t epoch = warp_broadcast(mine.word[kEpochWord], holder);
    if (epoch != wires_.epoch) {
      drop_stale(tile);
      return;
    }
    if (!is_lane_payload(bytes, wires_.payload_capacity)) {
      tile.slot_count = 0;
      broken(report_->bad_length, DropReason::BadLength);
      return;
    }
    const PayloadAddress at =
        place_payload(state_.payload_received, bytes, wires_.payload_capacity);
    if (at.end - state_.payload_told > wires_.payload_capacity) {
      tile.slot_count = 0;
      broken(report_->credit_overrun, DropReason::CreditOverrun);
      return;
    }
    tile.slot_count = 1;
    tile.payload_bytes = bytes;
    tile.payload = wires_.own_payload + (at.begin & (wires_.payload_capacity - 1));
    state_.payload_received = at.end;
    // The slot's first packet once more, now with acquire: it was put after the payload (O1, O2). A
    // load, because a fence would wait for stores of this thread that have nothing to do with it.
    static_cast<void>(SystemOrder::take_ordered(*place_of(tile.first, 0)));
    warp_sync();
  }

  // The stamp's 16 bits fit and the whole epoch does not: the place is used up, its content is not
  // delivered.
  GCOORD_HD void drop_stale(SlotTile& tile) {
    tile.slot_count = 1;
    book(tile);
    if (state_.broken == 0) {
      state_.credit.consume(1);
    }
    tile.slot_count = 0;
    count(report_->stale_epoch);
  }

  // The places were granted, or the peer overran. As CreditReceiver::on_slots judges what came over
  // a wire; here nothing can be missing, because the cursor is this side's own.
  GCOORD_HD void book(SlotTile& tile) {
    const std::uint64_t end = tile.first + tile.slot_count;
    if (!state_.credit.was_granted(end)) [[unlikely]] {
      tile.slot_count = 0;
      broken(report_->credit_overrun, DropReason::CreditOverrun);
      return;
    }
    state_.credit.received = end;
  }

  // Counts it, stops this end, and tells the channel's waiters and the host.
  GCOORD_HD void broken(std::uint64_t& counter, DropReason reason) {
    state_.broken = 1;
    count(counter);
    reset_channel(wires_, reason);
  }

  LaneWires wires_;
  LaneReport* report_;
  LaneReceiverState state_;
  std::uint64_t released_ = 0;
};

}  // namespace gcoord::netcore
