// Table of the leader of each row: words that the device writes and its host only reads.
//
// One word per row says its role, term, recorded leader and who votes. The thread that has the row
// stores it when one of these changed in a step, and nobody else ever does, so a word never goes
// back: a host that looks late misses what was between, never the newest. One word per page of a
// stripe's rows rises after those of the page did, once per turn and behind everything that the
// turn told through the ring; so a host that looks at pages first knows what to look at, and what
// came before. Neither side waits, and no row costs the host anything until it looks
// (docs/adr/0052).
//
// What a word says was so on the device a moment ago. Nothing is decided by it: what a host asks of
// a row, the row judges again.
//
// Contract: memory that both sides reach at one address, zero at first; 0 says that nothing was
// said yet. Orders as in docs/internals/memory_order.md: words are relaxed, one aligned store each
// (O3); a page is released by a member of the stripe's group after the group has met (O1) and
// acquired by the host (O2). Host and device; POD.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/ids.h"
#include "consensus/step/configuration.h"
#include "consensus/step/shard_table.h"
#include "netcore/memory/order.h"

#include <cstdint>

namespace gcoord::server {

// Rows of one page: few enough that a look at one costs less than a microsecond, so many that all
// pages of a million rows are looked at in that time, too.
inline constexpr std::uint32_t kLeaderPageRows = 512;

// --- The word: role in bits 0 and 1, leader from bit 2 on, standing behind it, a bit that says
// that something was said, and as many of the term's low bits above as there is room for. How wide
// leader and standing are follows from the slots that a row has: with three the standing begins at
// bit 4, the said bit is bit 15, and 48 bits are the term's; with five and seven there are 42
// and 36.

inline constexpr std::uint32_t kStandingSlots = 3;  // Where nobody says else.
inline constexpr std::uint32_t kLeaderShift = 2;

// Where the parts of the word lie.
GCOORD_HD constexpr std::uint32_t leader_bits(std::uint32_t slots) {
  return slots == 3 ? 2 : 3;
}

GCOORD_HD constexpr std::uint32_t standing_shift(std::uint32_t slots) {
  return kLeaderShift + leader_bits(slots);
}

GCOORD_HD constexpr std::uint32_t said_shift(std::uint32_t slots) {
  return slots == 3 ? 15 : standing_shift(slots) + 3 * slots + 1;
}

GCOORD_HD constexpr std::uint32_t term_shift(std::uint32_t slots) {
  return said_shift(slots) + 1;
}

GCOORD_HD constexpr std::uint64_t leader_said(std::uint32_t slots) {
  return std::uint64_t{1} << said_shift(slots);
}

static_assert(term_shift(3) == 16 && term_shift(5) == 22 && term_shift(7) == 28);

// Who votes in a row, by slots: voters, voters that are leaving, learners, a bit for each slot, and
// whether this replica has forgotten what it promised.
GCOORD_HD constexpr std::uint64_t standing_members(std::uint32_t slots) {
  return (std::uint64_t{1} << slots) - 1;
}

GCOORD_HD constexpr std::uint64_t standing_forgetful(std::uint32_t slots) {
  return std::uint64_t{1} << (3 * slots);
}

GCOORD_HD constexpr std::uint64_t standing_mask(std::uint32_t slots) {
  return 2 * standing_forgetful(slots) - 1;
}

GCOORD_HD inline std::uint64_t standing_of(const consensus::Hot& hot,
                                           const consensus::Configuration& configuration,
                                           std::uint32_t slots = kStandingSlots) {
  const bool forgetful = (hot.flags & consensus::kRowForgetful) != 0;
  const std::uint64_t members = standing_members(slots);
  return (configuration.voters & members) | (configuration.voters_outgoing & members) << slots |
         (configuration.learners & members) << 2 * slots |
         (forgetful ? standing_forgetful(slots) : 0u);
}

// Who leads a row, as one replica of it knows.
struct LeaderWord {
  consensus::Role role = consensus::Role::Follower;
  Term term;
  NodeId leader;  // 0: none known.
  std::uint64_t standing = 0;
  std::uint32_t slots = kStandingSlots;  // Of the row.

  bool leads() const { return role == consensus::Role::Leader; }

  bool forgetful() const { return (standing & standing_forgetful(slots)) != 0; }

  consensus::SlotMask voters() const {
    return static_cast<consensus::SlotMask>(standing & standing_members(slots));
  }

  consensus::SlotMask voters_outgoing() const {
    return static_cast<consensus::SlotMask>(standing >> slots & standing_members(slots));
  }

  consensus::SlotMask learners() const {
    return static_cast<consensus::SlotMask>(standing >> 2 * slots & standing_members(slots));
  }
};

// A leader that no slot has is none that a client could be sent to.
GCOORD_HD constexpr std::uint64_t encode(const LeaderWord& word) {
  const std::uint64_t leader = word.leader.value <= word.slots ? word.leader.value : 0;
  return static_cast<std::uint64_t>(word.role) | leader << kLeaderShift |
         (word.standing & standing_mask(word.slots)) << standing_shift(word.slots) |
         leader_said(word.slots) | word.term.value << term_shift(word.slots);
}

constexpr LeaderWord decode_leader(std::uint64_t word, std::uint32_t slots = kStandingSlots) {
  const std::uint64_t leader = word >> kLeaderShift & ((1u << leader_bits(slots)) - 1);
  return {static_cast<consensus::Role>(word & 3u),
          Term{word >> term_shift(slots)},
          NodeId{static_cast<std::uint32_t>(leader)},
          word >> standing_shift(slots) & standing_mask(slots),
          slots};
}

GCOORD_HD inline std::uint64_t leader_word_of(consensus::ShardRef shard,
                                              std::uint32_t slots = kStandingSlots) {
  const consensus::Hot& hot = shard.hot();
  return encode(
      {hot.role, hot.term, hot.leader, standing_of(hot, shard.configuration(), slots), slots});
}

// --- The table

// Pages of every stripe, which has at most so many rows.
constexpr std::uint32_t leader_pages(std::uint32_t stripe_rows) {
  return (stripe_rows + kLeaderPageRows - 1) / kLeaderPageRows;
}

struct LeaderTable {
  std::uint64_t* word = nullptr;  // By row.
  std::uint64_t* page = nullptr;  // stripe_pages by stripe. Rises; what it says else is nothing.
  std::uint32_t stripe_pages = 0;

  // By the thread that has the row, after its step. Pairs with read().
  GCOORD_HD void tell(std::uint32_t row, std::uint64_t value) const {
    netcore::SystemOrder::raise(word[row], value);
  }

  // By members of the stripe's group, once they have met after tell(); `value` is greater than in
  // the turn before and the same for all of them. `row` is counted from the stripe's first. Pairs
  // with look().
  GCOORD_HD void close(std::uint32_t stripe, std::uint32_t row, std::uint64_t value) const {
    netcore::SystemOrder::publish(page[stripe * stripe_pages + row / kLeaderPageRows], value);
  }

  std::uint64_t look(std::uint32_t number) const {
    return netcore::SystemOrder::observe(page[number]);
  }

  std::uint64_t read(std::uint32_t row) const { return netcore::SystemOrder::peek(word[row]); }
};

}  // namespace gcoord::server
