// Options of an acquire beyond the plain exclusive hold: shared, counted, with a note.
//
// Plain acquires say none of this: their commands, their records and their path through apply() are
// those of a lock service that knows nothing else. An ask packs into eight bytes, equal on
// replicas; 0 is the plain ask. Pure; host and device.
#pragma once

#include "common/hd.h"

#include <cstdint>

namespace gcoord::locks {

// Bits of HoldOptions::flags. Never renumber: they are in the log and in snapshots.
// Another acquire by the holder counts one hold more, under the same token, up to `limit`.
inline constexpr std::uint8_t kHoldReentrant = 1;

// The lock is held together with others who ask so: readers when the limit is 0, and as long as no
// more than `limit` permits are out when it is not.
inline constexpr std::uint8_t kHoldShared = 2;
// The session holds the lock alone, and goes on as one of several under the same token.
inline constexpr std::uint8_t kHoldDowngrade = 4;

// The lock is wanted alone, by a candidate of the rank that `permits` says: higher ones are
// preferred. The tables keep it with the wait and show it; who acts on it is the leader
// (client/elections/succession.h).
inline constexpr std::uint8_t kHoldRanked = 64;

inline constexpr std::uint8_t kHoldFlags =
    kHoldReentrant | kHoldShared | kHoldDowngrade | kHoldRanked;

// Sessions that hold one lock together; what one command may have to let in at once. More wait.
inline constexpr std::uint32_t kHoldersMax = 64;

// How long a lock may stay nobody's after its holder failed (lock_delay.h): a minute, as in Chubby
// (Burrows, OSDI 2006, section 2.4).
inline constexpr std::uint16_t kDelayMsMax = 60'000;

// Bytes of a note, which a holder leaves with its lock for others to read: an address, the number
// of a job, a small document. More belongs into what the lock guards. Half of the longest name.
inline constexpr std::uint16_t kNoteBytesMax = 512;

struct HoldOptions {
  std::uint8_t flags = 0;
  // Of a shared hold: how many it takes, at least 1. Of a ranked one its rank, at least 1.
  std::uint8_t permits = 0;
  // Of a reentrant hold: how many times it may be held, at least 1. Of a shared one: see
  // kHoldShared.
  std::uint16_t limit = 0;
  // Of a hold alone: how long nobody has the lock after its holder failed; 0: it passes on at once.
  std::uint16_t delay_ms = 0;
};

GCOORD_HD constexpr std::uint64_t pack_ask(const HoldOptions& ask) {
  return std::uint64_t{ask.flags} | std::uint64_t{ask.permits} << 8 |
         std::uint64_t{ask.limit} << 16 | std::uint64_t{ask.delay_ms} << 32;
}

GCOORD_HD constexpr HoldOptions unpack_ask(std::uint64_t packed) {
  return {.flags = static_cast<std::uint8_t>(packed),
          .permits = static_cast<std::uint8_t>(packed >> 8),
          .limit = static_cast<std::uint16_t>(packed >> 16),
          .delay_ms = static_cast<std::uint16_t>(packed >> 32)};
}

// Whether somebody may ask so, with a note or without: no unknown bit, numbers only where they mean
// something. Holds are counted, and notes and delays left, by who holds a lock alone; who takes a
// hold down becomes one reader.
GCOORD_HD constexpr bool ask_sound(const HoldOptions& ask, bool noted) {
  if ((ask.flags & ~kHoldFlags) != 0 || ask.delay_ms > kDelayMsMax) {
    return false;
  }
  if ((ask.flags & kHoldRanked) != 0) {
    return ask.flags == kHoldRanked && ask.permits >= 1 && ask.limit == 0;
  }
  if ((ask.flags & kHoldShared) == 0) {
    const bool reentrant = (ask.flags & kHoldReentrant) != 0;
    return (ask.flags & kHoldDowngrade) == 0 && ask.permits == 0 && reentrant == (ask.limit != 0);
  }
  const bool reads = ask.limit == 0 && ask.permits == 1;
  const bool downgrades = (ask.flags & kHoldDowngrade) != 0;
  const bool counted = ask.limit != 0 && ask.permits >= 1 && ask.permits <= ask.limit;
  return !noted && ask.delay_ms == 0 && (ask.flags & kHoldReentrant) == 0 &&
         (reads || (counted && !downgrades));
}

}  // namespace gcoord::locks
