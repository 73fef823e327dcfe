// Inputs of a stripe at the beginning of a turn: the clock's reading, messages of its peers, rows
// that are due; device_turn_requests.h has the clients' requests.
//
// Whatever has no place in this turn stays where it is: messages in their ring, which keeps the
// sender's credit, or on the desk, where they were when it turned out; rows in the due ring. What
// comes from outside is judged here: a message must come from the node at the other end of its
// channel, be for this one, and name a row of this stripe. An Append announces how many slots with
// entries follow it; one that announces more than the cluster allows leaves no way to tell what
// follows it, and its channel is reset. Contract: all members of the group call every function with
// the same arguments. Host and device.
#pragma once

#include "common/device/warp_device.h"
#include "common/hd.h"
#include "consensus/step/message_tiles.h"
#include "netcore/memory/order.h"
#include "server/device_turn/readings.h"
#include "server/device_turn/scratch.h"

#include <cstdint>

namespace gcoord::server {

// --- The clock

// The inputs of the step for every combination of peers that take messages.
template <typename Service>
GCOORD_HD void spread_reading(const StripeTurn<Service>& t) {
  constexpr std::uint32_t kPlenty = 1u << 30;  // The step asks only whether there is any.
  WorkspaceFor<Service>& desk = t.desk;
  for (std::uint32_t mask = warp_rank(); mask < kCreditMasks<Service>; mask += warp_lanes()) {
    desk.input[mask] = desk.reading.input;
    desk.input[mask].peer = desk.peer[mask];
    for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
      desk.peer[mask][p] = desk.reading.peer[p];
      desk.peer[mask][p].credit = (mask >> p & 1u) != 0 ? kPlenty : 0;
    }
  }
  warp_sync();
}

// Takes over the newest reading, if there is a newer one. Where none could be copied whole, the
// stripe has none (version 0), and the next turn tries again.
template <typename Service>
GCOORD_HD void take_reading(StripeTurn<Service>& t) {
  const std::uint64_t version =
      copy_newest(*t.node.clock, t.state.version, [&t](const TurnInput& place) {
        copy_words(&t.desk.reading, &place, sizeof(t.desk.reading));
      });
  if (version == t.state.version) {
    return;
  }
  t.state.version = version;
  if (version == kNoReading) {
    return;
  }
  spread_reading(t);
  if (t.desk.reading.wakes != t.state.wakes) {
    t.state.wakes = t.desk.reading.wakes;
    t.state.wake_next = 0;
  }
}

// --- Messages of peers

// Slots behind a header. What cannot be says more than any turn holds.
template <typename Service>
GCOORD_HD std::uint32_t slots_behind(const StripeTurn<Service>& t, std::uint64_t names) {
  const auto kind = static_cast<consensus::MessageKind>(names >> 32 & 0xffu);
  const auto count = static_cast<std::uint32_t>(names >> 48);
  const std::uint32_t entries =
      count > t.node.shape.entries_max ? kTurnSlots : entry_slots<typename Service::Entry>(count);
  const std::uint32_t snapshot = kind == consensus::MessageKind::Snapshot ? kSnapshotSlots : 0;
  return kind == consensus::MessageKind::Append ? entries : snapshot;
}

// Whether a message can be for a row of this stripe.
template <typename Service>
GCOORD_HD bool is_ours(const StripeTurn<Service>& t, std::uint32_t p, const netcore::Slot& slot) {
  const consensus::MessageChunk first = consensus::load_chunk(&slot);
  const ShardId shard{static_cast<std::uint32_t>(first.word[0])};
  const auto kind = static_cast<std::uint32_t>(first.word[0] >> 32 & 0xffu);
  const auto flags = static_cast<std::uint32_t>(first.word[0] >> 40 & 0xffu);
  const NodeId from{static_cast<std::uint32_t>(first.word[1])};
  const NodeId to{static_cast<std::uint32_t>(first.word[1] >> 32)};
  const bool configures = (flags & consensus::kFlagConfiguration) != 0;
  const bool known = !configures || Service::kReadmits;
  return t.rows.has(row_of_shard(shard)) & (from == t.node.peer[p]) & (to == t.node.self) & known &
         (kind != 0) & (kind <= consensus::kMessageKindLast);
}

// Messages that an inbox takes from a peer and those before it. Each has places that those taken in
// before it leave free, so that nobody's messages wait for ever behind another's.
template <typename Service>
GCOORD_HD constexpr std::uint32_t inbox_room(std::uint32_t p) {
  constexpr std::uint32_t kKept = kPeersOf<Service> == 2 ? 2 : 1;
  static_assert(kKept * (kPeersOf<Service> - 1) < consensus::kInboxMessages);
  return consensus::kInboxMessages - kKept * (kPeersOf<Service> - 1 - p);
}

// Gives messages to their rows: each member brings the slot of one, where `wanted`, in their order.
// Those that cannot be are dropped. From the first on for which this turn has no place they all
// wait; the member that brings that one, or 32 if none does. `places`: rows that may be given one.
template <typename Service>
GCOORD_HD std::uint32_t deliver(
    StripeTurn<Service>& t, std::uint32_t p, std::uint32_t at, bool wanted, std::uint32_t places) {
  const netcore::Slot& slot = t.desk.slots[p][at];
  const std::uint32_t all = warp_ballot(wanted);
  const bool crowded = wanted && rank_among(all) >= places;
  const bool known = wanted && is_ours(t, p, slot);
  const bool ours = known && !crowded;
  const std::uint64_t names = consensus::load_chunk(&slot).word[0];
  const bool snapshot =
      ours && (names >> 32 & 0xffu) == static_cast<std::uint64_t>(consensus::MessageKind::Snapshot);
  const std::uint32_t row = ours ? static_cast<std::uint32_t>(names) : kNoTurnPlace;
  const std::uint32_t place = place_each(t, ours, row);
  // One snapshot fits an inbox; members with messages for one row take their turns in it.
  const std::uint32_t same = warp_match(row);
  const std::uint32_t snapshots = warp_ballot(snapshot) & same;
  const bool second = snapshot && (rank_among(snapshots) != 0 || t.desk.snapshot[place] != 0);
  const std::uint32_t before = ours ? t.desk.arrived_count[place] : 0;
  const std::uint32_t count = before + rank_among(warp_ballot(ours) & same);
  const bool full = ours && (second || count >= inbox_room<Service>(p));
  const std::uint32_t waits = leading_run(~warp_ballot(crowded || full), 32);
  const bool taken = ours && warp_rank() < waits;
  const std::uint32_t mine = warp_ballot(taken) & same;
  warp_sync();
  if (taken) {
    t.desk.arrived[place][count] = static_cast<std::uint8_t>(p * kTurnSlots + at);
  }
  if (taken && snapshot) {
    t.desk.snapshot[place] = static_cast<std::uint8_t>(count + 1);
  }
  if (taken && rank_among(mine) == 0) {
    t.desk.arrived_count[place] = static_cast<std::uint8_t>(before + count_bits(mine));
  }
  t.state.counts.dropped += count_bits(warp_ballot(wanted && !known && warp_rank() < waits));
  warp_sync();
  return waits;
}

// The same for the only message of a look, without asking who else has one. Whether it waits.
template <typename Service>
GCOORD_HD bool deliver_one(StripeTurn<Service>& t, std::uint32_t p, std::uint32_t at) {
  const netcore::Slot& slot = t.desk.slots[p][at];
  const std::uint64_t names = consensus::load_chunk(&slot).word[0];
  const bool snapshot =
      (names >> 32 & 0xffu) == static_cast<std::uint64_t>(consensus::MessageKind::Snapshot);
  const bool known = is_ours(t, p, slot);
  const std::uint32_t place =
      known ? place_for(t, static_cast<std::uint32_t>(names)) : kNoTurnPlace;
  bool taken = false;
  if (place != kNoTurnPlace) {
    const std::uint32_t count = t.desk.arrived_count[place];
    taken = count < inbox_room<Service>(p) && !(snapshot && t.desk.snapshot[place] != 0);
    warp_sync();
    if (taken && warp_rank() == 0) {
      t.desk.arrived[place][count] = static_cast<std::uint8_t>(p * kTurnSlots + at);
      t.desk.arrived_count[place] = static_cast<std::uint8_t>(count + 1);
      t.desk.snapshot[place] =
          snapshot ? static_cast<std::uint8_t>(count + 1) : t.desk.snapshot[place];
    }
  }
  t.state.counts.dropped += known ? 0 : 1;
  warp_sync();
  return known && !taken;
}

// Moves the slots that the last turn held back to the front.
template <typename Service>
GCOORD_HD void move_held(StripeTurn<Service>& t, std::uint32_t p) {
  for (std::uint32_t k = 0; t.held_first[p] != 0 && k < t.state.held[p]; ++k) {
    copy_words(&t.desk.slots[p][k], &t.desk.slots[p][t.held_first[p] + k], netcore::kSlotBytes);
    warp_sync();
  }
  t.held_first[p] = 0;
}

// Nothing that follows can be told apart any more.
template <typename Service>
GCOORD_HD void break_channel(StripeTurn<Service>& t, std::uint32_t p) {
  t.state.broken[p] = 1;
  t.state.held[p] = 0;
  t.held_first[p] = 0;
  ++t.state.counts.dropped;
  netcore::reset_channel(netcore::wires_of(t.node.channel[p], netcore::Band::Consensus, t.stripe),
                         netcore::DropReason::BadLength);
}

// Which slots hold headers of messages that are there whole: bit `at` each. `end` is the first slot
// behind them; kTurnSlots + 1: nothing can be told apart.
template <typename Service>
GCOORD_HD std::uint32_t find_headers(const StripeTurn<Service>& t,
                                     std::uint32_t p,
                                     std::uint32_t count,
                                     std::uint32_t& end) {
  for (std::uint32_t at = warp_rank(); at < count; at += warp_lanes()) {
    const std::uint64_t names = consensus::load_chunk(&t.desk.slots[p][at]).word[0];
    t.desk.behind[at] = static_cast<std::uint8_t>(slots_behind(t, names));
  }
  warp_sync();
  std::uint32_t headers = 0;
  end = 0;
  while (end < count) {
    const std::uint32_t behind = t.desk.behind[end];
    if (behind == kTurnSlots) {
      end = kTurnSlots + 1;
      return headers;
    }
    if (end + 1 + behind > count) {
      break;
    }
    headers |= 1u << end;
    end += 1 + behind;
  }
  return headers;
}

// Notes on the desk whether messages of a peer that are there whole wait for the next turn.
template <typename Service>
GCOORD_HD void note_waits(const StripeTurn<Service>& t, std::uint32_t p, bool waits) {
  if (warp_rank() == 0) {
    t.desk.waits[p] = waits ? 1 : 0;
  }
  warp_sync();
}

// Delivers the messages of `count` slots, as far as all their slots are there and the turn has
// places for them, at most `places_max` with those that it has given; holds the rest back.
template <typename Service>
GCOORD_HD void deliver_slots(StripeTurn<Service>& t,
                             std::uint32_t p,
                             std::uint32_t count,
                             std::uint32_t places_max) {
  std::uint32_t end = 0;
  const std::uint32_t headers = find_headers(t, p, count, end);
  const bool one = count_bits(headers) == 1;
  const bool whole = end <= kTurnSlots;
  std::uint32_t waits = count;  // The first slot of what waits.
  if (one) {
    const std::uint32_t at = leading_run(~headers, 32);
    waits = t.place_count >= places_max || deliver_one(t, p, at) ? at : count;
  }
  for (std::uint32_t base = one ? count : 0; base < waits; base += warp_lanes()) {
    const std::uint32_t at = base + warp_rank();
    const bool wanted = at < count && (headers >> at & 1u) != 0;
    const std::uint32_t places = t.place_count < places_max ? places_max - t.place_count : 0;
    const std::uint32_t first = deliver(t, p, at < count ? at : 0, wanted, places);
    waits = first < warp_lanes() ? base + first : waits;
  }
  note_waits(t, p, waits < count && whole);
  if (!whole) {
    break_channel(t, p);
    return;
  }
  t.held_first[p] = waits < end ? waits : end;
  t.state.held[p] = count - t.held_first[p];
}

// Slots that a look asks for while little comes: five are one row of packets of a warp.
inline constexpr std::uint32_t kFewSlots = 5;

// Slots that one look at a peer's lane may take: what the desk holds. What finds no place for its
// row waits there.
template <typename Service>
GCOORD_HD std::uint32_t room_for(const StripeTurn<Service>& t, std::uint32_t p) {
  return t.state.broken[p] != 0 ? 0 : kTurnSlots - t.state.held[p];
}

// Takes in what waits of one peer's messages and what a look at its lane found; how many slots that
// was. `tile` was looked for with at most `room` slots, kSlots at the most.
template <std::uint32_t kSlots, typename Service>
GCOORD_HD std::uint32_t receive_messages(StripeTurn<Service>& t,
                                         std::uint32_t p,
                                         netcore::LaneReceiver& from,
                                         netcore::SlotTile tile,
                                         std::uint32_t room,
                                         std::uint32_t places_max) {
  std::uint32_t came = 0;
  const bool waits = t.desk.waits[p] != 0;
  if (waits) {
    move_held(t, p);
  }
  while (room != 0) {
    from.take<kSlots>(tile, room);
    if (tile.slot_count == 0) {
      break;
    }
    if (came == 0) {
      move_held(t, p);
    }
    auto* words = reinterpret_cast<std::uint32_t*>(&t.desk.slots[p][t.state.held[p] + came]);
    tile.for_each_word<kSlots>(
        [words](std::uint32_t slot, std::uint32_t word, std::uint32_t value) {
          words[slot * netcore::kSlotWords + word] = value;
        });
    from.release(tile);
    came += tile.slot_count;
    if (warp_lanes() != 1) {
      break;
    }
    // A host's group has one member and looks at one slot at a time.
    room -= tile.slot_count;
    tile = from.look<kSlots>(room);
  }
  warp_sync();
  if (came != 0 || waits) {
    deliver_slots(t, p, t.state.held[p] + came, places_max);
  }
  return came;
}

// --- Rows that are due

// A position of the ring of rows that want a turn, `ahead` of its first one. By comparison, because
// a device divides slowly.
template <typename Service>
GCOORD_HD std::uint32_t& due_at(const StripeTurn<Service>& t, std::uint32_t ahead) {
  const std::uint32_t each = t.due_ring;
  const std::uint32_t at = t.state.due_first + ahead;
  return t.node.due[static_cast<std::size_t>(t.stripe) * each + (at < each ? at : at - each)];
}

// Puts the rows that members bring into the ring, one each where `wanted`. None is in it already.
template <typename Service>
GCOORD_HD void push_due(StripeTurn<Service>& t, bool wanted, std::uint32_t row) {
  const std::uint32_t bits = warp_ballot(wanted);
  if (wanted) {
    due_at(t, t.state.due_count + rank_among(bits)) = row;
    t.node.flags[row] = static_cast<std::uint8_t>(t.node.flags[row] | kTurnQueued);
  }
  t.state.due_count += count_bits(bits);
}

// Puts the row that wants another turn beside the others that do.
template <typename Service>
GCOORD_HD void take_again(StripeTurn<Service>& t) {
  if (t.again != kNoTurnPlace) {
    push_due(t, warp_rank() == 0 && (t.node.flags[t.again] & kTurnQueued) == 0, t.again);
    t.again = kNoTurnPlace;
    warp_sync();
  }
}

// Rows of the ring, until `places_max` places are taken.
template <typename Service>
GCOORD_HD void take_due(StripeTurn<Service>& t, std::uint32_t places_max) {
  const std::uint32_t places = t.place_count < places_max ? places_max - t.place_count : 0;
  const std::uint32_t count = t.state.due_count < places ? t.state.due_count : places;
  for (std::uint32_t base = 0; base < count; base += warp_lanes()) {
    const std::uint32_t at = base + warp_rank();
    std::uint32_t row = 0;
    if (at < count) {
      row = due_at(t, at);
      t.node.flags[row] = static_cast<std::uint8_t>(t.node.flags[row] & ~kTurnQueued);
    }
    if (count == 1) {
      static_cast<void>(place_for(t, warp_broadcast(row, 0)));
    } else {
      static_cast<void>(place_each(t, at < count, row));
    }
  }
  const std::uint32_t each = t.due_ring;
  const std::uint32_t first = t.state.due_first + count;
  t.state.due_first = first < each ? first : first - each;
  t.state.due_count -= count;
}

// --- Bulk wakes

// Whether rows are still to be woken.
template <typename Service>
GCOORD_HD bool waking(const StripeTurn<Service>& t) {
  return t.state.wake_next < 2 * t.rows.count();
}

// Whether a row's leader was lost: nobody serves its shard until it has heard so. A row that is
// kept apart, of which this does not tell, is one.
template <typename Service>
GCOORD_HD bool lost_leader(const StripeTurn<Service>& t, std::uint32_t row) {
  const consensus::PackedRow& packed = t.node.table.packed[row];
  bool lost = consensus::is_wide(packed);
  GCOORD_UNROLL
  for (std::uint32_t p = 0; p < kPeersOf<Service>; ++p) {
    const bool live = t.desk.reading.peer[p].live != 0;
    lost = lost || (!live && packed.leader == t.node.peer[p].value);
  }
  return lost;
}

// The next rows of a bulk wake, until `places_max` places are taken: first those that lost their
// leader, then all others.
template <typename Service>
GCOORD_HD void take_woken(StripeTurn<Service>& t, std::uint32_t places_max) {
  constexpr std::uint32_t kLooks = 8;  // At as many rows as there are members; a turn is short.
  const std::uint32_t rows = t.rows.count();
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < kLooks && waking(t) && t.place_count < places_max; ++k) {
    const std::uint32_t pass = t.state.wake_next < rows ? 0 : 1;
    const std::uint32_t at = t.state.wake_next - pass * rows;
    const std::uint32_t room = places_max - t.place_count;
    const std::uint32_t left = rows - at < warp_lanes() ? rows - at : warp_lanes();
    const std::uint32_t count = left < room ? left : room;
    const std::uint32_t row = t.rows.first + at + warp_rank();
    const bool meant = warp_rank() < count && lost_leader(t, row) == (pass == 0);
    const std::uint32_t place = place_each(t, meant, row);
    if (meant) {
      t.desk.woken[place] = 1;
    }
    t.state.wake_next += count;
  }
}

}  // namespace gcoord::server
