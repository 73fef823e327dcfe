// Limits and reserved numbers of lock commands: the ground under commands and tables alike.
//
// Equal on all nodes and never changed: whether a command in the log is sound depends on them. Host
// and device.
#pragma once

#include "common/hd.h"
#include "common/ids.h"
#include "sessions/record.h"

#include <cstdint>

namespace gcoord::locks {

inline constexpr std::uint32_t kNameBytesMax = 1024;
inline constexpr std::uint32_t kTtlMsMax = 24 * 60 * 60 * 1000;

// Waiters that a lock takes along when it is moved to another shard: as many as one command has
// room for beside the shortest name (lock_move_command.h). Longer names leave room for fewer.
inline constexpr std::uint32_t kMoveWaitersMax = 166;

// Sequences from here on are no client's: waits that a moved lock brought along have them until
// their sessions ask again (lock_move.h).
using sessions::is_imported;
using sessions::kImportedSequence;
using sessions::kKeeperSession;

// Of these, the ones that lapse when nobody asks after them (lock_import.h).
inline constexpr std::uint64_t kLapsingSequence = std::uint64_t{1} << 62;

GCOORD_HD constexpr bool import_lapses(RequestSequence sequence) {
  return sequence.value >= (kImportedSequence | kLapsingSequence);
}

}  // namespace gcoord::locks
