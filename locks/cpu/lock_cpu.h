// The lock service of one node on the CPU: owns the tables, applies commands, answers reads.
//
// It knows nothing of Raft: the caller applies committed commands in log order per shard (the order
// between shards does not matter), tells who leads what, and confirms leadership before a read.
// Applying never fails; pools grow first where a command may need a row (lock_pools.h). The
// volatile clocks (node_clock.h) are kept in step here, so that the caller has one object.
//
//   reply = locks.apply(shard, index, payload, now, events)   // committed commands
//   locks.clock().renew_all(sessions, now, outcomes)          // keep-alives, outside the log
//   locks.clock().expired(now, proposals)                     // then propose ExpireSession for
//   each
//
// Its shards may be in several parts (LockOptions::part_shards, parts.h), so that threads can apply
// together: replies, states and hashes are the same as with one. A call holds the part that it
// looks at, and one that looks at all of them holds one after another: what it says of several is
// not of one moment. Commands of a shard come one after another, from whatever thread.
//
// Errors: replies carry a LockCode; only deserialize() can fail, on bytes it does not trust. Host
// only; with one part one thread, with several thread-safe.
#pragma once

#include "common/status.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "locks/cpu/held_lock.h"
#include "locks/cpu/moved_locks.h"
#include "locks/cpu/node_clock.h"
#include "locks/cpu/parts.h"
#include "locks/state/demand.h"
#include "locks/state/query.h"
#include "locks/state/residence.h"
#include "locks/state/table.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::locks {

// The tables of a shard, which change no more while this lives. It may take what is held by the
// same thread already; nothing else of another part should be called meanwhile.
class LockView {
 public:
  const LockTables& tables() const { return hold_->tables(); }

  // The row in these tables of one that LockCpu said.
  SessionRow row(SessionRow outside) const { return parts_->inside(outside); }

  // The index of the newest command of the shard in these tables since its state came whole; 0:
  // none, or the tables are in one part, whose caller knows it.
  LogIndex applied(ShardId shard) const { return parts_->applied(hold_, shard); }

  // What LockCpu says of a row of these tables.
  LockRow outside(LockRow row) const { return parts_->outside(hold_.number(), row); }

  SessionRow outside(SessionRow row) const { return parts_->outside(hold_.number(), row); }

 private:
  friend class LockCpu;

  LockView(const LockParts& parts, LockParts::Hold hold) : parts_(&parts), hold_(std::move(hold)) {}

  const LockParts* parts_;
  LockParts::Hold hold_;
};

class LockCpu;

// All tables of a node, which change no more while this lives. Of the node's loop alone.
class LockStill {
 public:
  explicit LockStill(const LockCpu& locks);

 private:
  std::vector<LockParts::Hold> parts_;
};

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

  // Which cap a command of a client would exceed, for the leader before it proposes. None for a
  // request that is remembered already, since it takes nothing more; and for releases, which give
  // back.
  LockLimit would_exceed(ShardId shard, const LockCommand& command) const;

  // Reads of the applied state.
  TokenVerdict check(const TokenCheck& request) const;
  std::optional<HeldLock> get(ShardId shard, NameHash name) const;

  // For a walk over all held locks of the node in the order of their rows, which can stop and go on
  // anywhere: the last row that may hold one, and the lock of a row, if it is one that `wanted`
  // says yes to. A lock that is released and taken again may be met twice or not at all.
  LockRow row_last() const;

  template <typename Wanted>
  std::optional<HeldLock> held(LockRow row, Wanted wanted) const {
    const auto part = parts_.of_row(row);
    const LockRow inside = parts_.inside(row);
    return inside <= part->row_last() ? seen_from_outside(part.number(), part->held(inside, wanted))
                                      : std::nullopt;
  }

  // Waiters of a lock from the given place on, at most `limit`.
  std::vector<QueuedWaiter> waiters(ShardId shard,
                                    NameHash name,
                                    std::uint32_t first_place,
                                    std::size_t limit) const;
  bool registered(ShardId shard, SessionId session) const;

  // Whether the shard has a record of this request of the session, so that its answer is kept.
  bool knows_request(ShardId shard, SessionId session, RequestSequence sequence) const;

  // Whether the very request of this acquire stands in a queue of the shard: applying the command
  // once more would answer Waiting and change nothing that a client could notice.
  bool stands_in_line(ShardId shard, const LockCommand& acquire) const;

  // What this shard knows of a name that was moved: nothing of one that never was.
  std::optional<NameResidence> residence(ShardId shard, NameHash name) const;

  // Locks that are away from the shard and may not have arrived where they were sent.
  std::vector<DepartedLock> departed(ShardId shard) const;

  // Places of one lock, or of all, that came with moved locks and are not claimed.
  std::vector<OrphanedWait> unclaimed(ShardId shard, NameHash name) const;
  std::vector<OrphanedWait> unclaimed(ShardId shard) const;

  // Brings the name to where other shards' states leave it. Of a state that no node runs on yet.
  void settle_move(ShardId shard, const MoveFix& fix);

  // Whether a command would end it.
  bool still_unclaimed(ShardId shard, const OrphanedWait& place) const;

  // What the session lost by force, in all its shards.
  std::vector<LostLock> losses(SessionId session) const;

  LockShardRow shard(ShardId shard) const;

  // Chain over everything applied in this shard; equal on replicas that applied the same.
  std::uint64_t state_hash(ShardId shard) const;

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

  NodeClock& clock() { return clock_; }

  const NodeClock& clock() const { return clock_; }

  NodeDelays& delays() { return delays_; }

  const NodeDelays& delays() const { return delays_; }

  // With the memory, which takes longer to say; and without.
  LockUsage usage() const;

  LockCounts counts() const { return parts_.counts(); }

  // Locks that somebody holds, and sessions of clients, in all shards and in one. Unlike usage()
  // and the shard's row, without what stands for names that were moved and for holds that were
  // broken, and each lock once, however many share it.
  LockOccupancy occupancy() const;
  LockOccupancy occupancy(ShardId shard) const;

  // Commands that did not decode or whose kind is unknown.
  std::uint64_t unknown_command_count() const;

  // The tables of one shard, held.
  LockView view(ShardId shard) const { return LockView{parts_, parts_.of(shard)}; }

  // For a walk over all sessions, as over locks: the last row that may have one, and a copy of what
  // stands in a row. A row beyond its part's is empty.
  SessionRow session_row_last() const;
  SessionRecord session(SessionRow row) const;

  // All tables of one part and one thread, for a device and for tests.
  const LockTables& tables() const;

  std::uint32_t shard_count() const { return shard_count_; }

 private:
  friend class LockStill;

  std::optional<HeldLock> seen_from_outside(std::uint32_t number,
                                            std::optional<HeldLock> lock) const;

  std::uint32_t shard_count_;
  LockParts parts_;
  NodeClock clock_{parts_};
  NodeDelays delays_{parts_};
};

}  // namespace gcoord::locks
