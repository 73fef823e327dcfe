// The end of sessions as one entry of a shard's log decides it, for every machine of the shard.
//
// One end is one entry: at its index the session is over for all that the shard replicates. Each
// machine gets the same SessionEnd from the entry and applies its share of it, in bounded steps:
// the locks pass on, and so will leave a group's members and go a store's leased keys. A machine
// never asks another whether a session lives; what it must know stands in the entry and in the
// registration (registrations.h). While something is left the leader proposes the end again, and
// the registration goes with the last of it.
//
// An entry may end many sessions at once. The bytes of its list, 1 to kEndsMax ends whose sessions
// rise, each of them
//
//   session 8, serial 4 (little-endian)
//
// are part of the machines' commands and outlive the view. A list goes no further when a machine
// has no room for one more end; what is left was not ended, as every replica finds at the same
// place, and whoever proposed it does so again. Reading and applying are host and device; encoding
// and checking are host only. Thread-safe.
#pragma once

#include "common/hd.h"
#include "common/ids.h"
#include "common/status.h"
#include "sessions/record.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::sessions {

// Sessions of one list. An entry of the log has room for 169; an end with one plain lock is some
// microseconds, and no other command should wait for more than half a millisecond of them.
inline constexpr std::uint32_t kEndsMax = 128;

inline constexpr std::uint32_t kEndBytes = 12;

enum class EndCause : std::uint8_t {
  Expired,  // Its time ran out: of this registration alone.
  Closed,   // Its owner wished it: of whichever registration there is.
};

// A registration that ends.
struct SessionEnd {
  SessionId session;
  std::uint32_t serial = 0;  // Of an expiry.
  EndCause cause = EndCause::Expired;

  // Whether the registration in `record`, which is the session's, is the one that ends.
  GCOORD_HD constexpr bool means(const SessionRecord& record) const {
    return cause == EndCause::Closed || record.serial == serial;
  }
};

// The list of an entry.
struct SessionEnds {
  const char* bytes = nullptr;
  std::uint32_t byte_count = 0;

  GCOORD_HD constexpr std::uint32_t count() const { return byte_count / kEndBytes; }

  GCOORD_HD constexpr SessionEnd operator[](std::uint32_t i) const {
    const char* const end = bytes + std::size_t{i} * kEndBytes;
    return {SessionId{number<std::uint64_t>(end)}, number<std::uint32_t>(end + 8)};
  }

 private:
  template <typename T>
  GCOORD_HD static constexpr T number(const char* from) {
    T value{0};
    for (std::uint32_t k = 0; k < sizeof(T); ++k) {
      value |= T{static_cast<unsigned char>(from[k])} << (8 * k);
    }
    return value;
  }
};

// Hands the ends of one entry to a machine, one after another: has_room() says whether the machine
// takes one more, one(end, i) applies it and says whether something is left. True: so it is of any,
// or ends of the list were not reached.
template <typename HasRoom, typename One>
GCOORD_HD bool apply_each_end(const SessionEnds& ends, const HasRoom& has_room, const One& one) {
  bool more = false;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kEndsMax && i < ends.count(); ++i) {
    if (!has_room()) {
      return true;
    }
    const bool left = one(ends[i], i);
    more = more || left;
  }
  return more;
}

// The bytes of a list.
std::vector<char> encode_ends(std::span<const SessionEnd> ends);

// Why the bytes are no list, or ok.
Status check_ends(const SessionEnds& ends);

}  // namespace gcoord::sessions
