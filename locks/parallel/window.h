// The next commands of a long run, which a group applies at once (lock_plan.h, lock_settle.h).
//
// A window is memory that the members share; a command's place in it is its number from 0, in log
// order. Sets of places are words with a bit each, equal for all members: what the commands before
// one did is then a count of bits, and nobody waits for anybody. Work on a window is a row of
// loops over its places. On a device each member has one place; on a host the one member has all
// of them, and runs the same code.
//
// Contract: all members call each function together. Host and device.
#pragma once

#include "common/bits.h"
#include "common/device/device_atomic.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "common/tables/hash_index.h"
#include "common/tables/row_pool.h"
#include "locks/parallel/batch.h"
#include "locks/state/keys.h"

#include <cstdint>

namespace gcoord::locks {

// Places of a window: the bits of a word, the members of a group on a device.
inline constexpr std::uint32_t kWindowCommands = 32;

// No place.
inline constexpr std::uint32_t kNoPlace = kWindowCommands;

// Rows that a window keeps for its writer to take again; more go to the end of the ring.
inline constexpr std::uint32_t kFreedRowsMax = 64;

// What one writer owns while it applies a run.
struct LockWriter {
  RowWindow locks;
  RowWindow sessions;
  RowWindow requests;
  RowWindow name_blocks;
  IndexSpare lock_spare;
  std::uint64_t waiter_count = 0;  // Change of the number of waiters; wraps.
};

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

// Whom a release passes the lock on to; at the release's place.
struct WindowPass {
  RequestRow request;     // A waiter of before the window, or none:
  RequestRow queue_next;  // its follower then;
  SessionRow session;
  std::uint32_t acquire = kNoPlace;  // the place of the acquire that waits.
  std::uint32_t owner = kNoPlace;    // First place of the session, if it has one.
};

struct LockWindow {
  LockWriter writer;
  CommittedCommand entries[kWindowCommands];
  LockKeys keys[kWindowCommands];
  std::uint32_t places[kWindowCommands];         // In the batch.
  std::uint32_t session_peers[kWindowCommands];  // Places of the same session.
  std::uint32_t lock_peers[kWindowCommands];     // Places of the same lock.
  WindowSession sessions[kWindowCommands];
  WindowLock locks[kWindowCommands];
  WindowPass passes[kWindowCommands];
  RequestRow request_rows[kWindowCommands];   // Of the records that commands leave.
  std::uint32_t granted_at[kWindowCommands];  // Of waits that end in the window: the release.
  std::uint32_t planned_count;                // Of the run so far.
  std::uint32_t freed_count;
  RequestRow freed[kFreedRowsMax];
};

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
