// Clocks of one node's lock tables: the times of sessions and of locks in their delay, kept in step
// with the commands that are applied.
//
// They are volatile: each node has its own, and only those of led shards propose anything. A
// command is announced before it is applied, since afterwards the tables do not show which holds a
// break ended and which sessions a moved lock brought. Host only; one thread.
#pragma once

#include "common/ids.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "locks/state/delay_clock.h"
#include "locks/state/table.h"
#include "sessions/clock.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::locks {

class LockTimes {
 public:
  struct Options {
    sessions::SessionClockOptions clock;
    // What all parts of the node remember together (part.h); nullptr: there are no others.
    std::shared_ptr<sessions::OverSessions> over;
  };

  // led: a bit per shard, all zero. Both it and the tables outlive this.
  LockTimes(const LockTables& tables, const Options& options, std::uint64_t* led);

  // Sessions whose holds a break may end, with the tokens of these.
  struct BreakTarget {
    SessionRow session;
    FencingToken token;
  };

  struct Expected {
    std::vector<BreakTarget> targets;
    std::vector<SessionId> newcomers;  // Sessions that a moved lock may register.
  };

  // A command of one session is about to be applied.
  Expected before(ShardId shard, const LockCommand& command) const;

  struct Applied {
    ShardId shard;
    const LockCommand& command;
    const LockReply& reply;
  };

  // It was applied.
  void after(const Applied& applied, const Expected& expected, Tick now);

  // The shard's tables were filled from a snapshot: registrations count as heard now.
  void on_restored(ShardId shard, Tick now);

  // The shard's tables are about to be dropped.
  void drop(ShardId shard);

  // Both cost the shard's registrations.
  void on_became_leader(ShardId shard, Tick now, std::uint64_t election_ticks);
  void on_lost_leadership(ShardId shard);

  sessions::SessionClock& clock() { return clock_; }

  const sessions::SessionClock& clock() const { return clock_; }

  DelayClock& delays() { return delays_; }

  const DelayClock& delays() const { return delays_; }

 private:
  std::vector<BreakTarget> break_targets(ShardId shard, const LockCommand& command) const;
  std::vector<SessionId> sessions_to_come(ShardId shard, const LockCommand& command) const;
  void follow_break(const std::vector<BreakTarget>& targets,
                    ShardId shard,
                    const LockCommand& command);
  void follow_force(const LockCommand& command, const LockReply& reply, ShardId shard);
  void follow_newcomers(const std::vector<SessionId>& sessions, ShardId shard, Tick now);
  void follow(const LockReply& reply, ShardId shard, Tick now);
  void follow_delays(SessionRow row, ShardId shard, Tick now);
  void follow_restored(SessionRow row, Tick now);
  void follow_began(SessionRow row, Tick now);
  void register_with_clock(SessionRow row, Tick now);
  bool leads(ShardId shard) const;

  // Whether a session's time runs: not that of a shard's keeper.
  bool is_timed(SessionRow row) const {
    return tables_.sessions[row].phase != SessionPhase::Keeper;
  }

  const LockTables& tables_;
  std::uint64_t* led_;  // A bit per shard: this node leads it.
  sessions::SessionClock clock_;
  DelayClock delays_;
};

}  // namespace gcoord::locks
