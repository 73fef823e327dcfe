// The lock service of one node on the CPU: owns the tables, applies commands, answers reads.
//
// It knows nothing of Raft: the caller applies committed commands in log order per shard (the order
// between shards does not matter), tells who leads what, and confirms leadership before a read.
// Applying never fails; pools grow first where a command may need a row (lock_pools.h). The
// volatile clocks (lock_times.h) are kept in step here, so that the caller has one object.
//
//   reply = locks.apply(shard, index, payload, now, events)   // committed commands
//   locks.clock().renew_all(sessions, now, outcomes)          // keep-alives, outside the log
//   locks.clock().expired(now, proposals)                     // then propose ExpireSession for
//   each
//
// Errors: replies carry a LockCode; only deserialize() can fail, on bytes it does not trust. Host
// only; one thread.
#pragma once

#include "common/status.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "locks/cpu/lock_pools.h"
#include "locks/cpu/lock_times.h"
#include "locks/cpu/moved_locks.h"
#include "locks/state/delay_clock.h"
#include "locks/state/demand.h"
#include "locks/state/query.h"
#include "locks/state/residence.h"
#include "locks/state/table.h"
#include "sessions/clock.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
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

struct MoveFix;  // move_survey.h.

class LockCpu {
 public:
  explicit LockCpu(const LockOptions& options);
  LockCpu(const LockCpu&) = delete;
  LockCpu& operator=(const LockCpu&) = delete;

  // Applies the committed command at `index`. `events` has room for kLockEventsPerCommandMax more.
  LockReply apply(
      ShardId shard, LogIndex index, const LockCommand& command, Tick now, LockEvents& events);
  // The same from the log's bytes; what does not decode is applied as an unknown command.
  LockReply apply_bytes(ShardId shard,
                        LogIndex index,
                        std::span<const std::byte> bytes,
                        Tick now,
                        LockEvents& events);

  // What the group machine answered to this request, for its retries: it stands in the record's
  // token and holder. Whoever applies a group's request says so at once, with the same numbers on
  // every replica.
  void keep_group_reply(const GroupAnswer& answer);

  // Whether the session is registered in the shard and its end was not decided.
  bool lives(ShardId shard, SessionId session) const;

  // Grows the pools so that commands of this demand find their rows. apply() does it by itself.
  void reserve(const LockDemand& demand);

  // Whether the command's very request was applied, and its answer is kept.
  bool remembers(ShardId shard, const LockCommand& command) const;

  // Which cap a command of a client would exceed, for the leader before it proposes. None for a
  // request that is remembered already, since it takes nothing more; and for releases, which give
  // back.
  LockLimit would_exceed(ShardId shard, const LockCommand& command) const;

  // Reads of the applied state.
  TokenVerdict check(const TokenCheck& request) const { return check_token(tables(), request); }

  void check_batch(std::span<const TokenCheck> requests, std::span<TokenVerdict> verdicts) const;
  std::optional<HeldLock> get(ShardId shard, NameHash name) const;

  // For a walk over all held locks of the node in the order of their rows, which can stop and go on
  // anywhere: the last row that may hold one, and the lock of a row, if it is one that `wanted`
  // says yes to. A lock that is released and taken again may be met twice or not at all.
  LockRow row_last() const { return pools_.lock_row_last(); }

  template <typename Wanted>
  std::optional<HeldLock> held(LockRow row, Wanted wanted) const {
    const LockRecord& lock = tables().locks[row];
    const bool held = lock.holder.value != 0 && !is_share(lock) && !is_kept(tables(), lock);
    return held && wanted(lock.shard) ? std::optional{describe(row)} : std::nullopt;
  }

  // Waiters of a lock from the given place on, at most `limit`.
  std::vector<QueuedWaiter> waiters(ShardId shard,
                                    NameHash name,
                                    std::uint32_t first_place,
                                    std::size_t limit) const;
  bool registered(ShardId shard, SessionId session) const;

  // Whether the shard has a record of this request of the session.
  bool knows_request(ShardId shard, SessionId session, RequestSequence sequence) const;

  // Whether the very request of this acquire stands in a queue of the shard: applying the command
  // once more would answer Waiting and change nothing that a client could notice.
  bool stands_in_line(ShardId shard, const LockCommand& acquire) const;

  // What this shard knows of a name that was moved: nothing of one that never was.
  std::optional<NameResidence> residence(ShardId shard, NameHash name) const {
    return MovedLocks(tables()).residence(shard, name);
  }

  // Locks that are away from the shard and may not have arrived where they were sent.
  std::vector<DepartedLock> departed(ShardId shard) const {
    return MovedLocks(tables()).departed(shard);
  }

  // Places of one lock, or of all, that came with moved locks and are not claimed.
  std::vector<OrphanedWait> unclaimed(ShardId shard, NameHash name) const {
    return MovedLocks(tables()).unclaimed(shard, name);
  }

  std::vector<OrphanedWait> unclaimed(ShardId shard) const {
    return MovedLocks(tables()).unclaimed(shard);
  }

  // Brings the name to where other shards' states leave it. Of a state that no node runs on yet.
  void settle_move(ShardId shard, const MoveFix& fix);

  // Whether a command would end it.
  bool still_unclaimed(ShardId shard, const OrphanedWait& place) const {
    return MovedLocks(tables()).still_unclaimed(shard, place);
  }

  // What the session lost by force, in all its shards.
  std::vector<LostLock> losses(SessionId session) const;

  const LockShardRow& shard(ShardId shard) const { return tables().shard(shard); }

  // Chain over everything applied in this shard; equal on replicas that applied the same.
  std::uint64_t state_hash(ShardId shard) const { return tables().shard(shard).state_hash; }

  // The shard's whole state as bytes: canonical, versioned, proportional to its content; equal on
  // replicas that applied the same commands. The caller adds the checksum.
  std::vector<std::byte> serialize(ShardId shard) const;
  // Replaces the shard's state; on DataLoss the shard is empty. Registrations count as heard now.
  Status deserialize(ShardId shard, std::span<const std::byte> bytes, Tick now);
  // Forgets the shard's state.
  void drop(ShardId shard);

  // Leadership as the consensus tells it; both cost the shard's registrations.
  void on_became_leader(ShardId shard, Tick now, std::uint64_t election_ticks) {
    times_.on_became_leader(shard, now, election_ticks);
  }

  void on_lost_leadership(ShardId shard) { times_.on_lost_leadership(shard); }

  sessions::SessionClock& clock() { return times_.clock(); }

  const sessions::SessionClock& clock() const { return times_.clock(); }

  DelayClock& delays() { return times_.delays(); }

  const DelayClock& delays() const { return times_.delays(); }

  LockUsage usage() const { return pools_.usage(); }

  // Locks that somebody holds, and sessions of clients, in all shards and in one. Unlike usage()
  // and the shard's row, without what stands for names that were moved and for holds that were
  // broken, and each lock once, however many share it.
  LockOccupancy occupancy() const;
  LockOccupancy occupancy(ShardId shard) const;

  // Commands that did not decode or whose kind is unknown.
  std::uint64_t unknown_command_count() const { return unknown_command_count_; }

  // The view for a stepper on a device, and for tests.
  const LockTables& tables() const { return pools_.tables(); }

 private:
  HeldLock describe(LockRow row) const;

  LockOptions options_;
  LockPools pools_;
  LockTimes times_;
  std::uint64_t lock_count_ = 0;             // Of all shards' rows.
  std::set<std::uint32_t> shards_of_moves_;  // All that may have a keeper.
  std::uint64_t unknown_command_count_ = 0;
};

}  // namespace gcoord::locks
