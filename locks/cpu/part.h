// A part of one node's lock tables (lock_cpu.h): the shards that it serves, with pools, indexes and
// clocks of their own.
//
// Applying never fails; pools grow first where a command may need a row (lock_pools.h). The
// volatile clocks (lock_times.h) are kept in step here. Rows are numbers of the part. Host only;
// one thread at a time, which is for the caller to see to (lock_parts.h).
#pragma once

#include "common/status.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "locks/cpu/held_lock.h"
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
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace gcoord::locks {

struct MoveFix;  // move_survey.h.

// Rows that are taken, of one part or of all.
struct LockCounts {
  std::uint64_t locks = 0;
  std::uint64_t waiters = 0;
  std::uint64_t sessions = 0;
  std::uint64_t requests = 0;
};

class LockPart {
 public:
  LockPart(const LockOptions& options, std::shared_ptr<sessions::OverSessions> over);
  LockPart(const LockPart&) = delete;
  LockPart& operator=(const LockPart&) = delete;

  // Where a command stands in the log, and when it is applied.
  struct Place {
    ShardId shard;
    LogIndex index;
    Tick now;
  };

  // As LockCpu::apply.
  LockReply apply(const Place& place, const LockCommand& command, LockEvents& events);

  // What the group machine answered to this request, for its retries: it stands in the record's
  // token and holder. Whoever applies a group's request says so at once, with the same numbers on
  // every replica.
  void keep_group_reply(const GroupAnswer& answer);

  // Whether the session is registered in the shard and its end was not decided.
  bool lives(ShardId shard, SessionId session) const;

  // Grows the pools so that commands of this demand find their rows. apply() does it by itself.
  void reserve(const LockDemand& demand);

  // Which cap a command of a client would exceed, where so much exists in all parts.
  LockLimit would_exceed(ShardId shard, const LockCommand& command, const LockCounts& all) const;

  // Reads of the applied state.
  TokenVerdict check(const TokenCheck& request) const { return check_token(tables(), request); }

  std::optional<HeldLock> get(ShardId shard, NameHash name) const;

  // As of LockCpu, with the part's own rows.
  LockRow row_last() const { return pools_.lock_row_last(); }

  template <typename Wanted>
  std::optional<HeldLock> held(LockRow row, Wanted wanted) const {
    const LockRecord& lock = tables().locks[row];
    const bool held = lock.holder.value != 0 && !is_share(lock) && !is_kept(tables(), lock);
    return held && wanted(lock.shard) ? std::optional{describe(row)} : std::nullopt;
  }

  // Places of a queue from the first on, at most so many.
  struct Queued {
    std::uint32_t first = 0;
    std::size_t limit = 0;
  };

  std::vector<QueuedWaiter> waiters(ShardId shard, NameHash name, const Queued& places) const;
  bool registered(ShardId shard, SessionId session) const;

  // Whether the shard has a record of this request of the session.
  bool knows_request(ShardId shard, SessionId session, RequestSequence sequence) const;

  // Whether the very request of this acquire stands in a queue of the shard: applying the command
  // once more would answer Waiting and change nothing that a client could notice.
  bool stands_in_line(ShardId shard, const LockCommand& acquire) const;

  // Of the names of a shard that were moved; as long as nothing changes.
  MovedLocks moved() const { return MovedLocks(tables()); }

  // Brings the name to where other shards' states leave it. Of a state that no node runs on yet.
  void settle_move(ShardId shard, const MoveFix& fix);

  // Adds what the session lost by force.
  void add_losses(SessionId session, std::vector<LostLock>& lost) const;

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

  // The same without the memory, which takes longer to say.
  LockCounts counts() const {
    return {.locks = tables().locks.used(),
            .waiters = pools_.waiter_count(),
            .sessions = tables().sessions.used(),
            .requests = tables().requests.used()};
  }

  // Locks that somebody holds, and sessions of clients, in all shards and in one. Unlike usage()
  // and the shard's row, without what stands for names that were moved and for holds that were
  // broken, and each lock once, however many share it.
  LockOccupancy occupancy() const;
  LockOccupancy occupancy(ShardId shard) const;

  // Commands that did not decode or whose kind is unknown.
  std::uint64_t unknown_command_count() const { return unknown_command_count_; }

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
