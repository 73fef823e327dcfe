// Gathering of the messages that arrived for one row: the first part of its turn.
//
// Finds the messages that other nodes left for the row in earlier turns and that chance lets arrive
// now, and the note of its own last turn, and leaves references to them in RowWork and RowLists.
// Nothing is copied. Loads that do not depend on one another are begun together. Host and device;
// see resident_row.h for the contract.
#pragma once

#include "chaos/parity/row.h"
#include "common/device/async_copy.h"
#include "common/device/prefetch.h"
#include "common/hd.h"
#include "consensus/step/message_tiles.h"

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

GCOORD_HD inline consensus::MessageSlot message_place(const Outgoing& from,
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

  GCOORD_HD consensus::MessageSlot lies(std::uint32_t k) const {
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
  const consensus::MessageSlot message = message_place(from, arrived.place, arrived.k);
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

// Where the other nodes' rows spoke so many turns ago, and whether to us.
struct SpokenAt {
  bool to_us[kResidentNodes];
  std::uint32_t place[kResidentNodes];
};

// A place of old is still one, so nothing waits for whether they spoke.
GCOORD_HD inline SpokenAt spoken_at(const RowTurn& t, std::uint32_t age) {
  SpokenAt at;
  GCOORD_UNROLL
  for (std::uint32_t sender = 0; sender < kResidentNodes; ++sender) {
    const Outgoing& from = outgoing_of(t.view, sender, age);
    at.to_us[sender] = sender != t.node && (from.receivers[t.row] >> t.node & 1u) != 0;
    at.place[sender] = from.place[t.row];
  }
  return at;
}

struct SaidBy {
  MessageList list[kResidentNodes];
};

GCOORD_HD inline SaidBy said_at(const RowTurn& t, std::uint32_t age, const SpokenAt& at) {
  SaidBy said;
  GCOORD_UNROLL
  for (std::uint32_t sender = 0; sender < kResidentNodes; ++sender) {
    const Outgoing& from = outgoing_of(t.view, sender, age);
    said.list[sender].word = at.to_us[sender] ? from.messages_said[at.place[sender]] : 0;
  }
  return said;
}

// Messages of one age.
GCOORD_HD inline void gather_age(const RowTurn& t,
                                 std::uint32_t age,
                                 const SpokenAt& at,
                                 const SaidBy& said,
                                 Gathered& gathered) {
  GCOORD_UNROLL
  for (std::uint32_t sender = 0; sender < kResidentNodes; ++sender) {
    const MessageList list = said.list[sender];
    for (std::uint32_t k = 0; k < list.count(); ++k) {
      gather_message(t, Arrived{sender, age, k, at.place[sender]}, list, gathered);
    }
  }
}

// Three loads follow from one another: where somebody spoke, what is there, and the messages, which
// are asked for only. The first two are begun together for the row's own note and for all others.
GCOORD_HD inline void gather_row(const RowTurn& t) {
  if (t.ahead != nullptr) {
    copy_16_ahead(&t.ahead->service, &t.service());  // Needed last.
  }
  const Outgoing& last = outgoing_of(t.view, t.node, 1);
  const std::uint32_t note_place = last.place[t.row];
  const bool noted = (t.due() & kDueNote) != 0;
  const SpokenAt at = spoken_at(t, 1);
  const SaidBy said = said_at(t, 1, at);
  const Note note = load_note(last.note[note_place]);
  if (noted) {
    t.work.answer = note;
  }
  Gathered gathered;
  if (t.turn.node[t.node].restart == 0) {
    gather_age(t, 1, at, said, gathered);  // Apart from the late ones: straight code.
    for (std::uint32_t age = 2; age < t.ages(); ++age) {
      const SpokenAt before = spoken_at(t, age);
      gather_age(t, age, before, said_at(t, age, before), gathered);
    }
  }
  t.outgoing().place[t.row] = t.place;
  t.work.arrived_count = gathered.count;
  t.work.snapshot_arrived = gathered.snapshot;
}

}  // namespace gcoord::chaos
