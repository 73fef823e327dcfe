// The lock service of one node on the CPU: owns the tables, applies commands, answers reads.
//
// It knows nothing of Raft: the caller applies committed commands in log order per shard (the order
// between shards does not matter), tells who leads what, and confirms leadership before a read.
// Applying never fails; pools grow by doubling first where a command may need a row, in
// place and without a pause. The volatile
// session clock is kept in step here, so that the caller has one object.
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
#include "common/tables/column_arena.h"
#include "common/tables/growing_index.h"
#include "common/tables/mapped_column.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "locks/state/delay_clock.h"
#include "locks/state/demand.h"
#include "locks/state/query.h"
#include "locks/state/residence.h"
#include "locks/state/table.h"
#include "sessions/clock.h"

#include <cstddef>
#include <cstdint>
#include <optional>
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
  std::uint64_t index_seed = 0;  // Unknown to clients; see hash_index.h.
};

// What exists on the node, of all shards.
struct LockUsage {
  std::uint64_t locks = 0;
  std::uint64_t waiters = 0;
  std::uint64_t sessions = 0;
  std::uint64_t requests = 0;  // Waiters and kept replies.
  std::uint64_t name_blocks = 0;
  std::uint64_t memory_bytes = 0;  // Of all columns and indexes, used or not.
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

  // Grows the pools so that commands of this demand find their rows. apply() does it by itself.
  void reserve(const LockDemand& demand);

  // Which cap a command of a client would exceed, for the leader before it proposes. None for a
  // request that is remembered already, since it takes nothing more; and for releases, which give
  // back.
  LockLimit would_exceed(ShardId shard, const LockCommand& command) const;

  // Reads of the applied state.
  TokenVerdict check(const TokenCheck& request) const { return check_token(tables_, request); }

  void check_batch(std::span<const TokenCheck> requests, std::span<TokenVerdict> verdicts) const;
  std::optional<HeldLock> get(ShardId shard, NameHash name) const;

  // For a walk over all held locks of the node in the order of their rows, which can stop and go on
  // anywhere: the last row that may hold one, and the lock of a row, if it is one that `wanted`
  // says yes to. A lock that is released and taken again may be met twice or not at all.
  LockRow row_last() const { return LockRow{lock_memory_.window.fresh}; }

  template <typename Wanted>
  std::optional<HeldLock> held(LockRow row, Wanted wanted) const {
    const LockRecord& lock = tables_.locks[row];
    const bool held = lock.holder.value != 0 && !is_share(lock) && !is_kept(tables_, lock);
    return held && wanted(lock.shard) ? std::optional{describe(row)} : std::nullopt;
  }

  // Waiters of a lock from the given place on, at most `limit`.
  std::vector<QueuedWaiter> waiters(ShardId shard,
                                    NameHash name,
                                    std::uint32_t first_place,
                                    std::size_t limit) const;
  bool registered(ShardId shard, SessionId session) const;

  // Whether the very request of this acquire stands in a queue of the shard: applying the command
  // once more would answer Waiting and change nothing that a client could notice.
  bool stands_in_line(ShardId shard, const LockCommand& acquire) const;

  // What this shard knows of a name that was moved: nothing of one that never was.
  std::optional<NameResidence> residence(ShardId shard, NameHash name) const;

  // Locks that are away from the shard and may not have arrived where they were sent.
  std::vector<DepartedLock> departed(ShardId shard) const;

  // Of one lock; of all. The latter looks at every session of a shard to which locks were moved.
  std::vector<OrphanedWait> unclaimed(ShardId shard, NameHash name) const;
  std::vector<OrphanedWait> unclaimed(ShardId shard) const;

  // Brings the name to where other shards' states leave it. Of a state that no node runs on yet.
  void settle_move(ShardId shard, const MoveFix& fix);

  // Whether a command would end it.
  bool still_unclaimed(ShardId shard, const OrphanedWait& place) const;

  // What the session lost by force, in all its shards.
  std::vector<LostLock> losses(SessionId session) const;

  const LockShardRow& shard(ShardId shard) const { return tables_.shard(shard); }

  // Chain over everything applied in this shard; equal on replicas that applied the same.
  std::uint64_t state_hash(ShardId shard) const { return tables_.shard(shard).state_hash; }

  // The shard's whole state as bytes: canonical, versioned, proportional to its content; equal on
  // replicas that applied the same commands. The caller adds the checksum.
  std::vector<std::byte> serialize(ShardId shard) const;
  // Replaces the shard's state; on DataLoss the shard is empty. Registrations count as heard now.
  Status deserialize(ShardId shard, std::span<const std::byte> bytes, Tick now);
  // Forgets the shard's state.
  void drop(ShardId shard);

  // Leadership as the consensus tells it; both cost the shard's registrations.
  void on_became_leader(ShardId shard, Tick now, std::uint64_t election_ticks);
  void on_lost_leadership(ShardId shard);

  sessions::SessionClock& clock() { return clock_; }

  const sessions::SessionClock& clock() const { return clock_; }

  DelayClock& delays() { return delays_; }

  const DelayClock& delays() const { return delays_; }

  LockUsage usage() const;

  // Commands that did not decode or whose kind is unknown.
  std::uint64_t unknown_command_count() const { return unknown_command_count_; }

  // The view for a stepper on a device, and for tests.
  const LockTables& tables() const { return tables_; }

 private:
  template <typename Record, typename RowId>
  struct PoolMemory {
    MappedColumn<Record> records;
    MappedColumn<std::uint32_t> free_rows;
    RowWindow window;
  };

  template <typename Record, typename RowId>
  static bool grow_pool(PoolMemory<Record, RowId>& memory,
                        RowPool<Record, RowId>& pool,
                        std::uint32_t wanted);
  void follow(const LockReply& reply, ShardId shard, Tick now);

  // Sessions whose holds a break may end, with the tokens of these.
  struct BreakTarget {
    SessionRow session;
    FencingToken token;
  };

  std::vector<BreakTarget> break_targets(ShardId shard, const LockCommand& command) const;
  void follow_break(const std::vector<BreakTarget>& targets,
                    ShardId shard,
                    const LockCommand& command);
  void follow_delays(SessionRow row, ShardId shard, Tick now);
  void follow_restored(SessionRow row, Tick now);
  void follow_force(const LockCommand& command, const LockReply& reply, ShardId shard);
  // What a moved lock brings along: sessions that it registers.
  std::vector<SessionId> sessions_to_come(ShardId shard, const LockCommand& command) const;
  void follow_newcomers(const std::vector<SessionId>& sessions, ShardId shard, Tick now);

  // Whether a session's time runs: not that of a shard's keeper.
  bool is_timed(SessionRow row) const {
    return tables_.sessions[row].phase != SessionPhase::Keeper;
  }

  void register_with_clock(SessionRow row, Tick now);
  bool leads(ShardId shard) const;
  bool remembers(ShardId shard, const LockCommand& command) const;
  HeldLock describe(LockRow row) const;

  LockOptions options_;
  ColumnArena shard_columns_;
  std::uint64_t* led_ = nullptr;  // A bit per shard: this node leads it.
  PoolMemory<LockRecord, LockRow> lock_memory_;
  PoolMemory<SessionRecord, SessionRow> session_memory_;
  PoolMemory<RequestRecord, RequestRow> request_memory_;
  PoolMemory<NameBlock, NameBlockRow> name_memory_;
  GrowingIndex lock_index_;
  GrowingIndex session_index_;
  std::uint64_t waiter_count_ = 0;
  LockTables tables_;
  sessions::SessionClock clock_;
  DelayClock delays_;
  std::uint64_t unknown_command_count_ = 0;
};

}  // namespace gcoord::locks
