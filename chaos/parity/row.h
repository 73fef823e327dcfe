// One row of a resident cluster at work in one turn, and who wants a turn at all.
//
// A turn of a row has three parts: gather (resident_gather.h) finds what arrived, step
// (resident_turn.h) runs the step, carry-out (resident_carry_out.h) moves payloads and applies.
// They meet in RowWork and RowLists, which belong to the thread that runs the row.
// Contract: one thread per row and part; a part reads the Outgoing of earlier turns, and writes the
// node's own of this turn and the row's own columns. Host and device; loops have constant bounds or
// bounds by the shape.
#pragma once

#include "chaos/parity/turn_input.h"
#include "chaos/parity/view.h"
#include "common/hd.h"
#include "consensus/step/inbox.h"

#include <cstdint>

namespace gcoord::chaos {

// What the parts of one row's turn tell each other: plain fields, which a device keeps in
// registers,
struct RowWork {
  Note answer;  // Of storage and service to the row's last turn; empty: nothing.
  std::uint32_t arrived_count = 0;  // Messages of the inbox.
  bool snapshot_arrived = false;    // One of them is a snapshot.
  std::uint8_t rare = 0;            // kRare*
  std::uint32_t message_count = 0;  // What the row says.
  Note note;                        // What storage is to answer, and how far to apply; 0: nothing.
  consensus::Appended accepted;
  consensus::Appended own_entry;
  LogIndex configuration_index;
  std::uint32_t configuration_choice = 0;
};

// and what is indexed at run time, by message of the inbox.
struct RowLists {
  std::uint32_t arrived[consensus::kInboxMessages];  // An arrived_code (resident_gather.h).
  LogIndex stored[consensus::kInboxMessages];        // Outbox::stored.
};

// What the last part of a plain turn reads first, asked for in the first one.
struct alignas(16) RowAhead {
  Service service;
  Entry entry;     // The next one to be applied, as it was before the step.
  LogIndex index;  // Which one; 0: none.
};

// One row at work. `place` is where it speaks.
struct RowTurn {
  const ResidentView& view;
  const ResidentTurn& turn;
  const consensus::StepInput& input;
  std::uint32_t node;
  std::uint32_t row;
  std::uint32_t place;
  RowWork& work;
  RowLists& lists;
  // No chance has its hand in this turn: known to the compiler where a kernel is made for it, which
  // is then shorter by a fifth.
  bool quiet = false;
  RowAhead* ahead = nullptr;  // Where the row takes a plain turn.

  GCOORD_HD const ResidentRates& rates() const { return turn.rates; }

  GCOORD_HD bool by_chance() const { return !quiet && turn.rates.by_chance != 0; }

  // Turns that a message takes at most, and one.
  GCOORD_HD std::uint32_t ages() const { return by_chance() ? view.shape.ages : 2; }

  GCOORD_HD const Outgoing& outgoing() const { return outgoing_of(view, node, 0); }

  GCOORD_HD std::uint8_t& due() const { return view.node[node].due[row]; }

  GCOORD_HD Service& service() const { return view.node[node].service[row]; }

  GCOORD_HD Entry& entry(LogIndex index) const { return log_entry(view, node, row, index); }
};

// --- Who wants a turn

GCOORD_HD inline bool spoken_to(const ResidentView& view, std::uint32_t node, std::uint32_t row) {
  std::uint32_t receivers = 0;
  for (std::uint32_t age = 1; age < view.shape.ages; ++age) {
    for (std::uint32_t other = 0; other < kResidentNodes; ++other) {
      const Outgoing& outgoing = outgoing_of(view, other, age);
      receivers |= other == node ? 0u : outgoing.receivers[row];
    }
  }
  return (receivers >> node & 1u) != 0;
}

GCOORD_HD inline bool is_first_leader(const ResidentTurn& turn,
                                      std::uint32_t node,
                                      std::uint32_t row) {
  return turn.rates.first_leaders != 0 && row % kResidentNodes == node;
}

// Whether a row that nothing calls gets a turn by chance.
GCOORD_HD inline bool wished_for(const ResidentTurn& turn, std::uint32_t node, std::uint32_t row) {
  const std::uint32_t wake = turn.rates.wake;
  return wake != 0 &&
         random_below(chance(turn.seed, Chance::Wish, node, row, turn.number), 1u << 16) < wake;
}

// Whether a row is to be stepped in this turn; called for every row in every turn. Takes back what
// the row said when this turn's Outgoing was last used. A device asks for four rows at a time
// (resident_device.h).
GCOORD_HD inline bool wants_turn(const ResidentView& view,
                                 const ResidentTurn& turn,
                                 std::uint32_t node,
                                 std::uint32_t row,
                                 Tick deadline) {
  std::uint8_t& receivers = outgoing_of(view, node, 0).receivers[row];
  if (receivers != 0) {
    receivers = 0;
  }
  const NodeTurn& now = turn.node[node];
  const bool called = view.node[node].due[row] != 0 || deadline <= now.input.tick ||
                      (now.wake_all | now.restart) != 0 || is_first_leader(turn, node, row);
  if (called || spoken_to(view, node, row)) {
    return true;
  }
  return wished_for(turn, node, row);
}

}  // namespace gcoord::chaos
