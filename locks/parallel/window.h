// The next commands of one row, which a group decides at once (plan.h, settle.h).
//
// A window is memory that the members share; a command's place in it is its number from 0, in log
// order. Sets of places are words with a bit each, equal for all members: what the commands before
// one did is then a count of bits, and nobody waits for anybody. Work on a window is a row of
// loops over its places. On a device each member has one place; on a host the one member has all
// of them, and runs the same code. What commands say stands in columns, so that the members of a
// group read and write side by side.
//
// Contract: all members call each function together. Host and device.
#pragma once

#include "common/bits.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "locks/commands/command.h"
#include "locks/parallel/writer.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

// Places of a window: the bits of a word, the members of a group on a device.
inline constexpr std::uint32_t kWindowCommands = 32;

// Entries of the log that a window looks at. Pairs of an acquire and a release are three entries if
// the name takes one piece, so a window of commands is some 48.
inline constexpr std::uint32_t kWindowEntries = 64;

// No place.
inline constexpr std::uint32_t kNoPlace = kWindowCommands;

// --- Sets of places

// The bits below bit i, and those up to it; i < 32.
GCOORD_HD inline std::uint32_t bits_below(std::uint32_t i) {
  return (1u << i) - 1;
}

GCOORD_HD inline std::uint32_t bits_through(std::uint32_t i) {
  return (2u << i) - 1;
}

// The lowest `count` bits; count <= 32.
GCOORD_HD inline std::uint32_t bits_first(std::uint32_t count) {
  return count == 32 ? ~0u : bits_below(count);
}

// The number of the set bit that has n set ones below it; more than n are set.
GCOORD_HD inline std::uint32_t nth_bit(std::uint32_t word, std::uint32_t n) {
  std::uint32_t place = 0;
  GCOORD_UNROLL
  for (std::uint32_t width = 16; width > 0; width /= 2) {
    const std::uint32_t low = count_bits(word & bits_below(width));
    const bool above = n >= low;
    n -= above ? low : 0;
    place += above ? width : 0;
    word = above ? word >> width : word;
  }
  return place;
}

// --- What members share

// A session with a command in the window, as it was before; at the first of its places.
struct WindowSession {
  RequestSequence acked_below;
  RequestSequence least;          // Sequences below it are refused.
  RequestSequence sequence_last;  // The highest that is remembered; 0 when none is.
  std::uint32_t request_count = 0;
  RequestRow only_done;  // The one request that is remembered, if it is one and not a wait.
  bool live = false;
};

// A lock that is named in the window, as it was before; at the first of its places.
struct WindowLock {
  LockRow row;
  SessionRow holder;
  FencingToken token;
  std::uint32_t level = 0;  // The holder and the waiters; 0 when it is free.
  RequestRow queue_first;
  RequestRow queue_last;
  bool marked = false;  // For apply() alone.
};

// To whom a release passes the lock on; at the release's place.
struct WindowPass {
  RequestRow request;     // A waiter of before the window, or none:
  RequestRow queue_next;  // its follower then;
  SessionRow session;
  std::uint32_t acquire = kNoPlace;  // the place of the acquire that waits.
  std::uint32_t owner = kNoPlace;    // First place of the session, if it has one.
};

struct LockWindow {
  LockWriter writer;
  std::uint64_t decided_count;  // Commands that windows decided here, ever.

  // --- What commands say, by place. A kind that a window cannot hold is Unknown.
  LockCommandKind kind[kWindowCommands];
  std::uint8_t flags[kWindowCommands];
  std::uint16_t name_bytes[kWindowCommands];
  std::uint32_t entry[kWindowCommands];  // Its entry's number among those of the window.
  SessionId session_id[kWindowCommands];
  RequestSequence sequence[kWindowCommands];
  RequestSequence acked_below[kWindowCommands];
  FencingToken token[kWindowCommands];
  NameHash name[kWindowCommands];

  // --- What follows from that, and the rows that it names.
  std::uint32_t lock_hash[kWindowCommands];
  std::uint32_t session_hash[kWindowCommands];
  std::uint32_t argument_hash[kWindowCommands];
  std::uint64_t digest[kWindowCommands];
  SessionRow session[kWindowCommands];  // 0: the command is none of a window's.

  // --- Of the plan.
  std::uint32_t session_peers[kWindowCommands];  // Places of the same session.
  std::uint32_t lock_peers[kWindowCommands];     // Places of the same lock.
  WindowSession sessions[kWindowCommands];
  WindowLock locks[kWindowCommands];
  WindowPass passes[kWindowCommands];
  RequestRow request_rows[kWindowCommands];   // Of the records that commands leave.
  std::uint32_t granted_at[kWindowCommands];  // Of waits that end in the window: the release.

  // --- What came of it.
  LockCode code[kWindowCommands];
  std::uint64_t chain[kWindowCommands];  // The shard's state hash after each command.
};

// A window and what it works on.
struct WindowWork {
  const LockTables& tables;  // Theirs: the writer's windows are those of `window`.
  LockWindow& window;
  ShardId shard_id;
  LogIndex before;                  // Of the entry before the window's first one.
  std::uint32_t decided_count = 0;  // Entries from there on that are decided.
  LockShardRow shard;               // As it was before the window.

  GCOORD_HD LogIndex index_of(std::uint32_t place) const {
    return before + (window.entry[place] + 1);
  }
};

// --- Loops over places

// Calls body(i) for the places below `count`; what it wrote is seen by all members afterwards.
template <typename Body>
GCOORD_HD void each_place(std::uint32_t count, const Body& body) {
  if (warp_lanes() == kWindowCommands) {
    if (warp_rank() < count) {
      body(warp_rank());
    }
  } else {
    for (std::uint32_t i = 0; i < count; ++i) {
      body(i);
    }
  }
  warp_sync();
}

// The places below `count` for which question(i) holds.
template <typename Question>
GCOORD_HD std::uint32_t places_where(std::uint32_t count, const Question& question) {
  std::uint32_t places = 0;
  for (std::uint32_t base = 0; base < kWindowCommands; base += warp_lanes()) {
    const std::uint32_t i = base + warp_rank();
    places |= warp_ballot(i < count && question(i)) << base;
  }
  return places;
}

// peers[i]: the places below `count` whose key(i) is the same.
template <typename Key>
GCOORD_HD void find_peers(std::uint32_t count, const Key& key, std::uint32_t* peers) {
  if (warp_lanes() == kWindowCommands) {
    const std::uint32_t i = warp_rank();
    const std::uint32_t same = warp_match(i < count ? key(i) : 0) & bits_first(count);
    if (i < count) {
      peers[i] = same;
    }
    return;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    peers[i] = 0;
    for (std::uint32_t j = 0; j < count; ++j) {
      peers[i] |= (key(i) == key(j) ? 1u : 0u) << j;
    }
  }
}

// The first member does it while the others wait.
template <typename Body>
GCOORD_HD void first_member(const Body& body) {
  if (warp_rank() == 0) {
    body();
  }
  warp_sync();
}

}  // namespace gcoord::locks
