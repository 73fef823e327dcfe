// Options of one node's lock tables, and what reads of them say.
//
// Texts are copies. Rows that leave LockCpu are numbers of the node, not of a part of it
// (lock_parts.h). Host only.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"
#include "locks/commands/hold.h"
#include "locks/state/table.h"
#include "sessions/clock.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::locks {

// Caps of one node, checked by the leader before it proposes (never while applying, where replicas
// must agree). Defaults: 16 M held locks with 16-byte names are about 3 GB.
struct LockLimits {
  std::uint32_t locks_max = 16u << 20;
  std::uint32_t waiters_max = 4u << 20;
  std::uint32_t sessions_max = 16u << 20;
  std::uint32_t requests_max = 64u << 20;  // Waiters and kept replies: 64 bytes each, 4 GB.
};

struct LockOptions {
  std::uint32_t shard_count = 1;
  std::uint32_t rows_initial = 1024;  // Of each pool; they double when full.
  LockLimits limits;
  sessions::SessionClockOptions clock;
  std::uint64_t index_seed = 0;      // Unknown to clients; see hash_index.h.
  bool group_answers_apart = false;  // Of a host whose shards are on its device; see LockTables.
  // How many neighbouring shards a part has (lock_parts.h); 0: all of them, in one part.
  std::uint32_t part_shards = 0;
};

enum class LockLimit : std::uint8_t { None, Locks, Waiters, Sessions, Requests };

// A held lock, for reads. The name is a copy.
struct HeldLock {
  struct Holder {
    SessionId session;
    FencingToken token;
    LogIndex granted_at;
    std::uint32_t permits = 0;
  };

  std::string name;
  ShardId shard;
  NameHash name_hash;
  SessionId holder;
  FencingToken token;
  LogIndex granted_at;
  std::uint32_t waiter_count = 0;
  std::uint32_t holder_ttl_ms = 0;
  SessionRow holder_row;  // For clock().remaining_ticks() on the leader.
  std::uint32_t hold_count = 1;
  std::string note;  // What the holder left with it.
  std::uint32_t permits_limit = 0;
  std::vector<Holder> holders;  // Of a lock that is held together, by their tokens; else none.
};

// A hold that was broken by force, and that its session was not told of by a release.
struct LostLock {
  ShardId shard;
  std::string name;
  FencingToken token;
  LogIndex broken_at;
};

// Holds that losses() looks at in one shard; newer ones, and what was broken last, come first.
inline constexpr std::uint32_t kLossesLookedAt = 65'536;

struct QueuedWaiter {
  std::uint32_t queue_place = 0;  // 0 is the next to be granted.
  SessionId session;
  RequestSequence sequence;
  LogIndex enqueued_at;
  HoldOptions ask;
  std::string note;  // What it will leave with the lock.
};

struct GroupAnswer {
  ShardId shard;
  SessionId session;
  RequestSequence sequence;
  FencingToken token;
  SessionId holder;
};

struct LockOccupancy {
  std::uint64_t locks = 0;
  std::uint64_t sessions = 0;
};

}  // namespace gcoord::locks
