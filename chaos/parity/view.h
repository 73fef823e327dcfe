// A cluster of up to three nodes whose replicas, messages, storage and services all lie in one
// memory, host or device.
//
// What: the second environment of the step beside a real node. Every node has a table of the same
// shards; in each turn each active row is stepped once, and what it says lies in its node's
// `Outgoing` of that turn, where the other nodes find it in the following turns. Nothing is copied
// between nodes, and nothing that a turn reads is written in the same turn, so that rows can run in
// any order, on any number of threads, and give the same bytes.
// Why: one body of code measures the step on a device, feeds it on the device, and drives host and
// device from one seed for parity.
// Contract: plain pointers into one arena; POD, passed by value to kernels. A place is where a
// stepped row keeps what it says in this turn: its number in the list of active rows on a device,
// its row on a host. Host and device; indices unless a name says bytes.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/ids.h"
#include "common/tables/column_arena.h"
#include "consensus/step/configuration.h"
#include "consensus/step/inbox.h"
#include "consensus/step/message_tiles.h"
#include "consensus/step/outbox.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::chaos {

// Three replicas are what the figures speak of, and what fits a packed row.
inline constexpr std::uint32_t kResidentNodes = 3;

// Turns that an outbox lives at most: it is written in one and read in the others, which is as late
// as a message can come.
inline constexpr std::uint32_t kResidentAges = 4;

// A request and a reply to each of the other nodes, and a reply to a guest.
inline constexpr std::uint32_t kResidentMessages = 2 * (kResidentNodes - 1) + 1;

// Entries that one apply carries out; the rest is asked for again.
inline constexpr std::uint32_t kApplyEntries = 64;

// What an entry of the log holds: a command of 16 random bytes, or a mark.
struct alignas(16) Entry {
  std::uint64_t word[2];
};

// Marks in word[1]; commands keep the highest bit of it clear.
inline constexpr std::uint64_t kNoopMark = 0xffff'0000'0000'0001u;
inline constexpr std::uint64_t kConfigurationMark = 0xffff'0000'0000'0002u;

// A service that counts and hashes what it applies, in order.
struct alignas(16) Service {
  std::uint64_t digest = 0;
  LogIndex index;  // Applied up to here.
};

// What storage and service answer a row in its next turn (memory mode: the memory is the storage).
struct alignas(16) Note {
  consensus::StorageAck ack;
  LogIndex applied;
  std::uint32_t configuration = 0;  // 1 + choice of the configuration applied last; 0: none.
  std::uint32_t reserved = 0;
};

static_assert(sizeof(Note) == 2 * sizeof(consensus::MessageChunk));

// What a snapshot message carries beside its header.
struct Shipment {
  consensus::Configuration configuration;
  Service service;
};

// The messages of one place as their receivers need them before they load any: how many, and of
// each to which node it goes and whether it is a snapshot. One word.
struct MessageList {
  std::uint32_t word = 0;

  static constexpr std::uint32_t kBits = 4;  // Of a message: node + 1 in three, snapshot.
  static constexpr std::uint32_t kCountShift = kBits * kResidentMessages;
  static_assert(kCountShift + 3 <= 32);
  static_assert(kResidentMessages < 8);

  // The next message; `receiver` is the number of a node, or beyond them.
  GCOORD_HD void add(std::uint32_t receiver, bool snapshot) {
    const std::uint32_t code = receiver < kResidentNodes ? receiver + 1 : 0;
    word |= (code | (snapshot ? 8u : 0u)) << kBits * count();
    word += 1u << kCountShift;
  }

  GCOORD_HD std::uint32_t count() const { return word >> kCountShift; }

  GCOORD_HD bool goes_to(std::uint32_t k, std::uint32_t node) const {
    return (word >> kBits * k & 7u) == node + 1;
  }

  GCOORD_HD bool is_snapshot(std::uint32_t k) const { return (word >> kBits * k & 8u) != 0; }
};

// What one node says in one turn, by place, and by row where to find it.
struct Outgoing {
  consensus::MessageTiles messages;
  Entry* extent = nullptr;  // entries_max of an Append, by receiver and place.
  // By place: what is said to whom, in one word (MessageList).
  std::uint32_t* messages_said = nullptr;
  Note* note = nullptr;               // By place.
  Shipment* shipment = nullptr;       // By place.
  std::uint32_t* place = nullptr;     // By row; meant where receivers or due say so.
  std::uint8_t* receivers = nullptr;  // By row: a bit per node that is spoken to.
};

// What seldom happens in a turn.
inline constexpr std::uint8_t kRareOwnEntry = 1;
inline constexpr std::uint8_t kRareConfiguration = 2;  // One was accepted.
inline constexpr std::uint8_t kRareSnapshot = 4;       // One was installed.
inline constexpr std::uint8_t kRareRestart = 8;        // Nothing of the outbox is carried out.

// Row flags: why a row wants its next turn.
inline constexpr std::uint8_t kDueNote = 1;   // A note lies in the last turn's Outgoing.
inline constexpr std::uint8_t kDueAgain = 2;  // The step asked for it.
inline constexpr std::uint8_t kDueWoken = 4;  // The row has just been recovered.
inline constexpr std::uint8_t kDueFed = 8;    // A leader that is offered commands in every turn.

struct ResidentNode {
  Outgoing outgoing[kResidentAges];  // By age, in turns.
  std::uint8_t* due = nullptr;       // By row.
  Entry* log = nullptr;              // log_slots by row: entry i in slot i % log_slots.
  Service* service = nullptr;        // By row.
};

// Sizes of such a cluster.
struct ResidentShape {
  std::uint32_t shard_count = 0;
  // A power of two: divisions by a number that only a launch knows cost more than a whole handler.
  std::uint32_t ages = 2;         // 2: every message arrives in the next turn.
  std::uint32_t log_slots = 64;   // A power of two, beyond the uncommitted entries.
  std::uint32_t entries_max = 4;  // Entries of one Append.
};

struct ResidentView {
  ResidentShape shape;
  std::uint32_t place_count = 0;
  ResidentNode node[kResidentNodes];
};

inline std::uint32_t place_count_of(const ResidentShape& shape) {
  constexpr std::uint32_t kTile = consensus::kTilePlaces;
  return (shape.shard_count + kTile - 1) / kTile * kTile;
}

// Bytes per node of what only rows that were active occupy: messages, extents, notes.
inline std::size_t outgoing_bytes(const ResidentShape& shape) {
  const std::size_t places = place_count_of(shape);
  const std::size_t rows = shape.shard_count;
  return consensus::MessageTiles::bytes_for(place_count_of(shape), kResidentMessages) +
         ColumnArena::bytes_for<Entry>(kResidentNodes * places * shape.entries_max) +
         ColumnArena::bytes_for<std::uint32_t>(places) + ColumnArena::bytes_for<Note>(places) +
         ColumnArena::bytes_for<Shipment>(places) + ColumnArena::bytes_for<std::uint32_t>(rows) +
         ColumnArena::bytes_for<std::uint8_t>(rows);
}

inline std::size_t resident_bytes(const ResidentShape& shape) {
  const std::size_t rows = shape.shard_count;
  const std::size_t node =
      shape.ages * outgoing_bytes(shape) + ColumnArena::bytes_for<std::uint8_t>(rows) +
      ColumnArena::bytes_for<Entry>(rows * shape.log_slots) + ColumnArena::bytes_for<Service>(rows);
  return kResidentNodes * node;
}

template <typename Arena>
Outgoing carve_outgoing(Arena& arena, const ResidentShape& shape) {
  const std::size_t places = place_count_of(shape);
  Outgoing outgoing;
  const std::size_t message_bytes =
      consensus::MessageTiles::bytes_for(place_count_of(shape), kResidentMessages);
  outgoing.messages = {
      arena.template column<std::byte>(message_bytes), place_count_of(shape), kResidentMessages};
  outgoing.extent = arena.template column<Entry>(kResidentNodes * places * shape.entries_max);
  outgoing.messages_said = arena.template column<std::uint32_t>(places);
  outgoing.note = arena.template column<Note>(places);
  outgoing.shipment = arena.template column<Shipment>(places);
  outgoing.place = arena.template column<std::uint32_t>(shape.shard_count);
  outgoing.receivers = arena.template column<std::uint8_t>(shape.shard_count);
  return outgoing;
}

// Carves everything but the row tables out of zero-filled memory. Services start empty.
template <typename Arena>
ResidentView carve_resident(Arena& arena, const ResidentShape& shape) {
  GCOORD_ASSERT(shape.ages >= 2);
  GCOORD_ASSERT(shape.ages <= kResidentAges);
  GCOORD_ASSERT((shape.log_slots & (shape.log_slots - 1)) == 0);
  ResidentView view;
  view.shape = shape;
  view.place_count = place_count_of(shape);
  for (ResidentNode& node : view.node) {
    for (std::uint32_t age = 0; age < shape.ages; ++age) {
      node.outgoing[age] = carve_outgoing(arena, shape);
    }
    node.due = arena.template column<std::uint8_t>(shape.shard_count);
    const std::size_t slots = static_cast<std::size_t>(shape.shard_count) * shape.log_slots;
    node.log = arena.template column<Entry>(slots);
    node.service = arena.template column<Service>(shape.shard_count);
  }
  return view;
}

// --- Wide accesses: two or one of 16 bytes, where a struct would be copied field by field.

GCOORD_HD inline Note load_note(const Note& from) {
  const auto* chunk = reinterpret_cast<const consensus::MessageChunk*>(&from);
  const consensus::MessageChunk ack = chunk[0];
  const consensus::MessageChunk rest = chunk[1];
  Note note;
  note.ack.term = Term{ack.word[0]};
  note.ack.vote = NodeId{static_cast<std::uint32_t>(ack.word[1])};
  note.ack.present = static_cast<std::uint32_t>(ack.word[1] >> 32);
  note.applied = LogIndex{rest.word[0]};
  note.configuration = static_cast<std::uint32_t>(rest.word[1]);
  return note;
}

GCOORD_HD inline void store_note(const Note& note, Note& to) {
  auto* chunk = reinterpret_cast<consensus::MessageChunk*>(&to);
  const std::uint64_t present = note.ack.present;
  chunk[0] = {{note.ack.term.value, note.ack.vote.value | present << 32}};
  chunk[1] = {{note.applied.value, note.configuration}};
}

GCOORD_HD inline Service load_service(const Service& from) {
  const consensus::MessageChunk chunk = consensus::load_chunk(&from);
  return {chunk.word[0], LogIndex{chunk.word[1]}};
}

GCOORD_HD inline void store_service(const Service& service, Service& to) {
  consensus::store_chunk(&to, service.digest, service.index.value);
}

// --- Places

// What a node said so many turns ago; 0: what it says in this one.
GCOORD_HD inline const Outgoing& outgoing_of(const ResidentView& view,
                                             std::uint32_t node,
                                             std::uint32_t age) {
  return view.node[node].outgoing[age];
}

// Before each turn, by whoever owns the view: everything said is a turn older, and the oldest is
// written over. Views travel to kernels by value, so that ages are constants there and not
// divisions of the turn's number.
inline void age_outgoing(ResidentView& view) {
  for (ResidentNode& node : view.node) {
    const Outgoing oldest = node.outgoing[view.shape.ages - 1];
    for (std::uint32_t age = view.shape.ages - 1; age > 0; --age) {
      node.outgoing[age] = node.outgoing[age - 1];
    }
    node.outgoing[0] = oldest;
  }
}

GCOORD_HD inline Entry& log_entry(const ResidentView& view,
                                  std::uint32_t node,
                                  std::uint32_t row,
                                  LogIndex index) {
  const std::uint32_t slots = view.shape.log_slots;
  return view.node[node].log[static_cast<std::size_t>(row) * slots + (index.value & (slots - 1))];
}

// The entries that the Append to `receiver` at a place carries.
GCOORD_HD inline Entry* extent_of(const ResidentView& view,
                                  const Outgoing& outgoing,
                                  std::uint32_t receiver,
                                  std::uint32_t place) {
  const std::size_t first = static_cast<std::size_t>(receiver) * view.place_count + place;
  return outgoing.extent + first * view.shape.entries_max;
}

}  // namespace gcoord::chaos
