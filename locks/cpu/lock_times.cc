#include "locks/cpu/lock_times.h"

#include "common/assert.h"
#include "locks/commands/move_command.h"
#include "locks/state/broken.h"
#include "locks/state/delay.h"
#include "locks/state/keys.h"
#include "locks/state/share.h"

#include <algorithm>

namespace gcoord::locks {
namespace {

constexpr std::uint32_t kWordBits = 64;

}  // namespace

LockTimes::LockTimes(const LockTables& tables, const Options& options, std::uint64_t* led)
    : tables_(tables),
      led_(led),
      clock_(options.over == nullptr ? sessions::SessionClock(options.clock)
                                     : sessions::SessionClock(options.clock, options.over)),
      delays_(options.clock.tick_ms) {}

LockTimes::Expected LockTimes::before(ShardId shard, const LockCommand& command) const {
  Expected expected;
  if (command.kind == LockCommandKind::BreakLock) {
    expected.targets = break_targets(shard, command);
  }
  if (command.kind == LockCommandKind::MoveIn) {
    expected.newcomers = sessions_to_come(shard, command);
  }
  return expected;
}

void LockTimes::after(const Applied& applied, const Expected& expected, Tick now) {
  follow_break(expected.targets, applied.shard, applied.command);
  follow_force(applied.command, applied.reply, applied.shard);
  follow_newcomers(expected.newcomers, applied.shard, now);
  follow(applied.reply, applied.shard, now);
}

void LockTimes::on_restored(ShardId shard, Tick now) {
  SessionRow row = tables_.shard(shard).session_first;
  for (; row.value != 0; row = tables_.sessions[row].shard_next) {
    if (is_timed(row)) {
      register_with_clock(row, now);
      follow_restored(row, now);
    }
  }
}

std::vector<LockTimes::BreakTarget> LockTimes::break_targets(ShardId shard,
                                                             const LockCommand& command) const {
  const LockRow row = find_held(tables_, shard, command.name_hash);
  if (row.value == 0) {
    return {};
  }
  const LockRecord& lock = tables_.locks[row];
  const LockExtra extra = is_marked(lock) ? load_extra(tables_, lock) : LockExtra{};
  if (extra.share_count == 0) {
    return {{lock.holder, lock.token}};
  }
  std::vector<BreakTarget> targets;
  for (LockRow share = extra.share_first; share.value != 0;
       share = share_next(tables_.locks[share])) {
    targets.push_back({tables_.locks[share].holder, tables_.locks[share].token});
  }
  return targets;
}

std::vector<SessionId> LockTimes::sessions_to_come(ShardId shard,
                                                   const LockCommand& command) const {
  std::vector<SessionId> sessions;
  if (command.kind == LockCommandKind::MoveIn) {
    for (std::uint32_t i = 0; i < moved_count(command); ++i) {
      const SessionId session = moved_session(command, i).session;
      const bool met = std::ranges::find(sessions, session) != sessions.end();
      if (!met && find_session(tables_, shard, session).value == 0) {
        sessions.push_back(session);
      }
    }
  }
  return sessions;
}

// Whoever has lost a hold, its next keep-alive says so.
void LockTimes::follow_break(const std::vector<BreakTarget>& targets,
                             ShardId shard,
                             const LockCommand& command) {
  for (const BreakTarget& target : targets) {
    if (find_broken(tables_, shard, command.name_hash, target.token).value != 0) {
      clock_.on_broken(target.session, 1);
    }
  }
}

void LockTimes::follow_force(const LockCommand& command, const LockReply& reply, ShardId shard) {
  const bool released = command.kind == LockCommandKind::Release && !reply.replayed;
  if (released && reply.code == LockCode::HoldBroken && (command.flags & kReleaseByToken) == 0) {
    clock_.on_broken(find_session(tables_, shard, command.session), -1);
  }
  // A break ends a delay too.
  if (reply.code == LockCode::DelayEnded || reply.code == LockCode::Broken) {
    delays_.on_ended(shard, reply.token);
  }
}

void LockTimes::follow_newcomers(const std::vector<SessionId>& sessions, ShardId shard, Tick now) {
  for (const SessionId session : sessions) {
    const SessionRow row = find_session(tables_, shard, session);
    if (row.value != 0) {
      register_with_clock(row, now);
      // It ended while its lock was between the shards.
      if (clock_.over().remembers(session)) {
        clock_.on_come_too_late(row, now);
      }
    }
  }
}

// Keeps the session clock in step with what a command did.
void LockTimes::follow(const LockReply& reply, ShardId shard, Tick now) {
  switch (reply.change) {
    case RegistrationChange::None:
      return;
    case RegistrationChange::Added:
      GCOORD_ASSERT(tables_.sessions[reply.changed_row].shard == shard);
      return follow_began(reply.changed_row, now);
    case RegistrationChange::Dying:
      follow_delays(reply.changed_row, shard, now);
      return clock_.on_dying(reply.changed_row, now);
    case RegistrationChange::Delaying:
      follow_delays(reply.changed_row, shard, now);
      return clock_.on_delaying(reply.changed_row);
    case RegistrationChange::Removed:
      // Closed sessions are remembered too: who keeps one alive that another program closed must
      // learn that it is over.
      return clock_.on_removed(
          reply.changed_row,
          reply.code == LockCode::SessionExpired || reply.code == LockCode::SessionClosed ||
              reply.code == LockCode::DelayEnded || reply.code == LockCode::Broken);
  }
}

// By a request of a client. What comes behind the end of its session in the log was proposed before
// that was applied, so nobody could refuse it; it would stay for a TTL.
void LockTimes::follow_began(SessionRow row, Tick now) {
  const SessionId session = tables_.sessions[row].session;
  register_with_clock(row, now);
  if (session.value < sessions::kChosenSessionEnd) {
    clock_.over().forget(session);
  } else if (clock_.over().remembers(session)) {
    clock_.on_come_too_late(row, now);
  }
}

void LockTimes::register_with_clock(SessionRow row, Tick now) {
  const SessionRecord& session = tables_.sessions[row];
  clock_.on_registered({.row = row,
                        .shard = session.shard,
                        .session = session.session,
                        .serial = session.serial,
                        .ttl_ms = session.ttl_ms},
                       now,
                       leads(session.shard));
  if (session.phase != SessionPhase::Live) {
    clock_.on_dying(row, now);
  }
}

bool LockTimes::leads(ShardId shard) const {
  return (led_[shard.value / kWordBits] >> (shard.value % kWordBits) & 1) != 0;
}

// The newest stand first, up to those that are known.
void LockTimes::follow_delays(SessionRow row, ShardId shard, Tick now) {
  LockRow each = delayed_first(tables_.sessions[row]);
  for (; each.value != 0; each = tables_.locks[each].hold_next) {
    const LockRecord& lock = tables_.locks[each];
    const DelayedLock delayed{
        shard, lock.name_hash, lock.token, load_extra(tables_, lock).delay_ms};
    if (!delays_.on_delayed(delayed, now, leads(shard))) {
      return;
    }
  }
}

void LockTimes::follow_restored(SessionRow row, Tick now) {
  const SessionRecord& session = tables_.sessions[row];
  follow_delays(row, session.shard, now);
  const bool delays = delayed_first(session).value != 0;
  if (delays && session.hold_first.value == 0) {
    clock_.on_delaying(row);
  }
  std::int32_t broken = 0;
  for (LockRow each = session.hold_first; each.value != 0; each = tables_.locks[each].hold_next) {
    broken += is_broken(tables_.locks[each]) ? 1 : 0;
  }
  clock_.on_broken(row, broken);
}

void LockTimes::drop(ShardId shard) {
  SessionRow row = tables_.shard(shard).session_first;
  for (; row.value != 0; row = tables_.sessions[row].shard_next) {
    if (is_timed(row)) {
      clock_.on_removed(row, false);
    }
  }
  delays_.drop(shard);
}

void LockTimes::on_became_leader(ShardId shard, Tick now, std::uint64_t election_ticks) {
  led_[shard.value / kWordBits] |= std::uint64_t{1} << (shard.value % kWordBits);
  SessionRow row = tables_.shard(shard).session_first;
  for (; row.value != 0; row = tables_.sessions[row].shard_next) {
    if (is_timed(row)) {
      clock_.on_led(row, now, election_ticks);
    }
  }
  delays_.on_led(shard);
}

void LockTimes::on_lost_leadership(ShardId shard) {
  led_[shard.value / kWordBits] &= ~(std::uint64_t{1} << (shard.value % kWordBits));
  SessionRow row = tables_.shard(shard).session_first;
  for (; row.value != 0; row = tables_.sessions[row].shard_next) {
    if (is_timed(row)) {
      clock_.on_not_led(row);
    }
  }
  delays_.on_not_led(shard);
}

}  // namespace gcoord::locks
