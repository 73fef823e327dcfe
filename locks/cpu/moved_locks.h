// Reads of the names of a shard that were moved: where they are, what is under way, and the places
// that came with moved locks and that their sessions have not claimed.
//
// A view: the tables outlive it and do not change during a call. Host only.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"
#include "locks/state/residence.h"
#include "locks/state/table.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::locks {

struct NameResidence {
  Residence residence = Residence::Native;
  std::uint32_t move_number = 0;
  ShardId away_to;         // Of one that is away,
  bool departing = false;  // and may not have arrived.
};

// A lock that was taken out of a shard, as it has to come into another one (lock_move_command.h).
struct DepartedLock {
  std::string text;  // The name and right behind it holder and waiters, as a MoveIn has them.
  std::uint16_t name_bytes = 0;
  ShardId to;
  std::uint32_t number = 0;
  FencingToken token;
  std::uint64_t token_last = 0;
};

// A place that came with a moved lock and that its session has not asked after (lock_import.h).
struct OrphanedWait {
  SessionId session;
  RequestSequence sequence;
  NameHash name;
  std::uint32_t ttl_ms = 0;  // Of the session.
};

// Rows of tables that nobody holds: they stand for names that were moved (residence.h).
struct KeptRows {
  std::uint64_t locks = 0;
  std::uint64_t sessions = 0;  // The keepers'.
};

class MovedLocks {
 public:
  explicit MovedLocks(const LockTables& tables) : tables_(tables) {}

  // Nothing of a name that never was moved.
  std::optional<NameResidence> residence(ShardId shard, NameHash name) const;

  // Locks that are away from the shard and may not have arrived where they were sent.
  std::vector<DepartedLock> departed(ShardId shard) const;

  // What the shard's counts of locks and sessions have beyond what somebody holds.
  KeptRows kept(ShardId shard) const;

  // Of one lock; of all. The latter scans every session of a shard to which locks were moved.
  std::vector<OrphanedWait> unclaimed(ShardId shard, NameHash name) const;
  std::vector<OrphanedWait> unclaimed(ShardId shard) const;

  // Whether a command would end it.
  bool still_unclaimed(ShardId shard, const OrphanedWait& place) const;

 private:
  const LockTables& tables_;
};

}  // namespace gcoord::locks
