// What arrived for one row: the first part of its turn.
//
// Finds the messages that other nodes left for the row in earlier turns and that chance lets arrive
// now, and the note of its own last turn, and leaves references to them in RowWork and RowLists.
// Nothing is copied. Loads that do not depend on one another are begun together. Host and device;
// see resident_row.h for the contract.
#pragma once

#include "chaos/resident/resident_row.h"
#include "common/hd.h"
#include "common/prefetch.h"
#include "consensus/message_tiles.h"

#include <cstdint>

namespace gcoord::chaos {

// Where an arrived message lies: sender, age in turns, number and place, in one word.
inline constexpr std::uint32_t kCodePlaceBits = 25;  // 33 M places.
inline constexpr std::uint32_t kCodeMessageBits = 3;
inline constexpr std::uint32_t kCodeAgeBits = 2;
static_assert(kResidentMessages <= 1u << kCodeMessageBits);
static_assert(kResidentAges <= 1u << kCodeAgeBits);

struct Arrived {
  std::uint32_t sender;
  std::uint32_t age;
  std::uint32_t k;
  std::uint32_t place;
};

GCOORD_HD inline std::uint32_t arrived_code(const Arrived& arrived) {
  return arrived.place | arrived.k << kCodePlaceBits |
         arrived.age << (kCodePlaceBits + kCodeMessageBits) |
         arrived.sender << (kCodePlaceBits + kCodeMessageBits + kCodeAgeBits);
}

GCOORD_HD inline Arrived arrived_of(std::uint32_t code) {
  return {code >> (kCodePlaceBits + kCodeMessageBits + kCodeAgeBits),
          code >> (kCodePlaceBits + kCodeMessageBits) & ((1u << kCodeAgeBits) - 1),
          code >> kCodePlaceBits & ((1u << kCodeMessageBits) - 1),
          code & ((1u << kCodePlaceBits) - 1)};
}

GCOORD_HD inline consensus::MessagePlace message_place(const Outgoing& from,
                                                       std::uint32_t place,
                                                       std::uint32_t k) {
  const consensus::MessageSink lies = from.messages.sink(place);
  return {lies.chunk(k, 0), lies.chunk_stride};
}

// The messages of one inbox, where their senders left them.
struct ArrivedMessages {
  const RowTurn& t;

  GCOORD_HD std::uint32_t count() const { return t.work.arrived_count; }

  GCOORD_HD bool has_snapshot() const { return t.work.snapshot_arrived; }

  GCOORD_HD consensus::MessagePlace lies(std::uint32_t k) const {
    const Arrived arrived = at(k);
    return message_place(from(arrived), arrived.place, arrived.k);
  }

  GCOORD_HD Arrived at(std::uint32_t k) const { return arrived_of(t.lists.arrived[k]); }

  GCOORD_HD const Outgoing& from(const Arrived& arrived) const {
    return outgoing_of(t.view, arrived.sender, arrived.age);
  }

  GCOORD_HD consensus::Message operator[](std::uint32_t k) const {
    const Arrived arrived = at(k);
    return message_place(from(arrived), arrived.place, arrived.k).load();
  }

  GCOORD_HD const Entry* extent(std::uint32_t k) const {
    const Arrived arrived = at(k);
    return extent_of(t.view, from(arrived), t.node, arrived.place);
  }

  GCOORD_HD const Shipment& shipment(std::uint32_t k) const {
    const Arrived arrived = at(k);
    return from(arrived).shipment[arrived.place];
  }
};

// How many turns a message takes; ages: it never comes.
GCOORD_HD inline std::uint32_t delay_of(const RowTurn& t,
                                        std::uint32_t sender,
                                        std::uint64_t sent,
                                        std::uint32_t k) {
  const ResidentRates& rates = t.rates();
  if (!t.by_chance()) {
    return 1;
  }
  const std::uint64_t number = (sent * kResidentNodes + t.node) * kResidentMessages + k;
  const std::uint32_t roll =
      random_below(chance(t.turn.seed, Chance::Fate, sender, t.row, number), 1u << 16);
  if (roll < rates.lost) {
    return kResidentAges;
  }
  return roll < rates.lost + rates.late ? 2 : roll < rates.lost + 2 * rates.late ? 3 : 1;
}

// Asks for a message and for its payload, both of which are read much later.
GCOORD_HD inline void prefetch_message(const RowTurn& t, const Arrived& arrived) {
  const Outgoing& from = outgoing_of(t.view, arrived.sender, arrived.age);
  const consensus::MessagePlace message = message_place(from, arrived.place, arrived.k);
  GCOORD_UNROLL
  for (std::uint32_t c = 0; c < consensus::kMessageChunks; ++c) {
    prefetch(message.start + c * message.chunk_stride * sizeof(consensus::MessageChunk));
  }
  prefetch(extent_of(t.view, from, t.node, arrived.place));
}

// What one gathering has found so far.
struct Gathered {
  std::uint32_t count = 0;
  bool snapshot = false;
};

// Takes one message, if it is for us, comes now and there is room. Only one snapshot fits an inbox,
// and none beside another configuration; the network loses the others.
GCOORD_HD inline void gather_message(const RowTurn& t,
                                     const Arrived& arrived,
                                     MessageList said,
                                     Gathered& gathered) {
  const std::uint64_t sent = t.turn.number - arrived.age;
  if (!said.goes_to(arrived.k, t.node) || gathered.count == consensus::kInboxMessages ||
      delay_of(t, arrived.sender, sent, arrived.k) != arrived.age) {
    return;
  }
  if (said.is_snapshot(arrived.k)) {
    if (gathered.snapshot || t.work.answer.configuration != 0) {
      return;
    }
    gathered.snapshot = true;
  }
  t.lists.stored[gathered.count] = LogIndex{};
  t.lists.arrived[gathered.count] = arrived_code(arrived);
  prefetch_message(t, arrived);
  ++gathered.count;
}

// Messages of one age. Where the other nodes' rows spoke is read whether or not they spoke to us:
// the three loads of each are begun before the first is needed, and a place of old is still one.
GCOORD_HD inline void gather_age(const RowTurn& t, std::uint32_t age, Gathered& gathered) {
  std::uint32_t receivers[kResidentNodes];
  std::uint32_t place[kResidentNodes];
  MessageList said[kResidentNodes];
  GCOORD_UNROLL
  for (std::uint32_t sender = 0; sender < kResidentNodes; ++sender) {
    const Outgoing& from = outgoing_of(t.view, sender, age);
    receivers[sender] = sender == t.node ? 0 : from.receivers[t.row] >> t.node & 1u;
    place[sender] = from.place[t.row];
  }
  GCOORD_UNROLL
  for (std::uint32_t sender = 0; sender < kResidentNodes; ++sender) {
    const Outgoing& from = outgoing_of(t.view, sender, age);
    said[sender].word = receivers[sender] == 0 ? 0 : from.messages_said[place[sender]];
  }
  GCOORD_UNROLL
  for (std::uint32_t sender = 0; sender < kResidentNodes; ++sender) {
    for (std::uint32_t k = 0; k < said[sender].count(); ++k) {
      gather_message(t, Arrived{sender, age, k, place[sender]}, said[sender], gathered);
    }
  }
}

GCOORD_HD inline void gather_row(const RowTurn& t) {
  const Outgoing& last = outgoing_of(t.view, t.node, 1);
  const bool noted = (t.due() & kDueNote) != 0;
  if (noted) {
    t.work.answer = load_note(last.note[last.place[t.row]]);
  }
  Gathered gathered;
  if (t.turn.node[t.node].restart == 0) {
    gather_age(t, 1, gathered);  // Apart from the late ones, so that it is straight code.
    for (std::uint32_t age = 2; age < t.ages(); ++age) {
      gather_age(t, age, gathered);
    }
  }
  t.outgoing().place[t.row] = t.place;
  t.work.arrived_count = gathered.count;
  t.work.snapshot_arrived = gathered.snapshot;
}

}  // namespace gcoord::chaos
