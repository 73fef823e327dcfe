// How an acquire wants to hold its lock, beyond the plain "alone, once, without a note".
//
// Plain acquires say none of this: their commands, their records and their path through apply() are
// those of a lock service that knows nothing else. An ask packs into eight bytes, equal on
// replicas; 0 is the plain ask. Pure; host and device.
#pragma once

#include "common/hd.h"

#include <cstdint>

namespace gcoord::locks {

// Bits of HoldAsk::flags. Never renumber: they are in the log and in snapshots.
// Another acquire by the holder counts one hold more, under the same token, up to `limit`.
inline constexpr std::uint8_t kHoldReentrant = 1;

inline constexpr std::uint8_t kHoldFlags = kHoldReentrant;

// Bytes of a note, which a holder leaves with its lock for others to read: an address, the number
// of a job, a small document. More belongs into what the lock guards. Half of the longest name.
inline constexpr std::uint16_t kNoteBytesMax = 512;

struct HoldAsk {
  std::uint8_t flags = 0;
  std::uint16_t limit = 0;  // Of a reentrant hold: how many times it may be held, at least 1.
};

GCOORD_HD constexpr std::uint64_t pack_ask(const HoldAsk& ask) {
  return std::uint64_t{ask.flags} | std::uint64_t{ask.limit} << 16;
}

GCOORD_HD constexpr HoldAsk unpack_ask(std::uint64_t packed) {
  return {.flags = static_cast<std::uint8_t>(packed),
          .limit = static_cast<std::uint16_t>(packed >> 16)};
}

// Whether somebody may ask so: no unknown bit, and a limit where one belongs.
GCOORD_HD constexpr bool ask_sound(const HoldAsk& ask) {
  const bool reentrant = (ask.flags & kHoldReentrant) != 0;
  return (ask.flags & ~kHoldFlags) == 0 && reentrant == (ask.limit != 0);
}

}  // namespace gcoord::locks
