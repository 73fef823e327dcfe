// The lock service's pure step: apply(tables, shard, index, command) -> reply, and events.
//
// Content and replies depend on the shard's commands alone: not on the clock, on other shards, on
// which rows the pools gave, or on capacities. The driver has reserved rows for the command
// (lock_cpu.h), so applying cannot fail; a command that makes no sense is answered with a code and
// changes nothing. No allocation, no recursion, every loop bounded. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/commands/command.h"
#include "locks/commands/ends.h"
#include "locks/commands/reply.h"
#include "locks/state/acquire.h"
#include "locks/state/break.h"
#include "locks/state/chain.h"
#include "locks/state/delay_end.h"
#include "locks/state/holder_commands.h"
#include "locks/state/keys.h"
#include "locks/state/move.h"
#include "locks/state/requests.h"
#include "locks/state/session_locks.h"
#include "locks/state/table.h"

namespace gcoord::locks {

// The session of a command if it lives; none, with the reason in reply, if not.
GCOORD_HD inline SessionRow live_session(const ApplyPoint& at, SessionRow row, LockReply& reply) {
  if (row.value == 0) {
    reply.code = LockCode::SessionUnknown;
    return row;
  }
  if (at.tables.sessions[row].phase != SessionPhase::Live) {
    reply.code = LockCode::SessionExpired;
    return SessionRow{};
  }
  return row;
}

// An acquire, a release, a change by the holder, or a request of a group: what they share stands
// here once.
GCOORD_HD inline void apply_request(const ApplyPoint& at,
                                    const LockCommand& command,
                                    SessionRow found,
                                    LockReply& reply) {
  const SessionRow session_row = live_session(at, found, reply);
  if (session_row.value == 0) {
    return;
  }
  const bool acquires = command.kind == LockCommandKind::Acquire;
  const bool remembered = acquires || (command.flags & kReleaseByToken) == 0;
  RequestRow request_row;
  if (remembered) {
    request_row = begin_request(at.tables, session_row, command, at.keys, reply);
    if (request_row.value == 0) {
      return;
    }
  }
  if (command.kind == LockCommandKind::GroupRequest) {
    reply.code = LockCode::GroupTaken;  // It has its slot in the window, and no lock.
    return store_reply(at.tables, request_row, reply);
  }
  const LockRow lock_row = find_lock(at.tables, at.shard, command.name_hash, at.keys);
  if (acquires) {
    acquire(at, command, session_row, lock_row, request_row, reply);
  } else if (command.kind == LockCommandKind::Release) {
    release(at, command, session_row, lock_row, reply);
    if (reply.code != LockCode::Released && reply.code != LockCode::HoldReturned) {
      tell_broken(at, command, session_row, reply);
    }
  } else {
    change_office_apart(at, command, session_row, lock_row, reply);
  }
  if (remembered) {
    store_reply(at.tables, request_row, reply);
  }
  if (reply.code == LockCode::Waiting && command_asks(command)) {
    keep_ask_apart(at, command, request_row);
  }
}

// Idempotent: a wait that ended meanwhile answers how it ended, a grant included.
GCOORD_HD inline void apply_cancel_wait(const ApplyPoint& at,
                                        const LockCommand& command,
                                        SessionRow found,
                                        LockReply& reply) {
  const LockTables& tables = at.tables;
  const SessionRow session_row = live_session(at, found, reply);
  if (session_row.value == 0) {
    return;
  }
  const RequestRow row = find_request(tables, tables.sessions[session_row], command.sequence);
  if (row.value == 0) {
    reply.code = LockCode::NotWaiting;
    return;
  }
  if (tables.requests[row].code == LockCode::Waiting) {
    const bool timed_out = (command.flags & kCancelTimedOut) != 0;
    const LockRow lock = tables.requests[row].lock;
    end_wait(tables,
             row,
             timed_out ? LockCode::WaitTimedOut : LockCode::WaitCancelled,
             FencingToken{},
             at.events);
    if (is_marked(tables.locks[lock])) {
      wake(tables, lock, at.index, at.events);
    }
  } else {
    reply.replayed = true;
  }
  reply.code = tables.requests[row].code;
  reply.token = tables.requests[row].token;
  reply.holder = tables.requests[row].holder;
}

// Ends the wait of a deadlock, if it is still that very wait; what else there is stays.
GCOORD_HD inline void apply_break_wait(const ApplyPoint& at,
                                       const LockCommand& command,
                                       SessionRow found,
                                       LockReply& reply) {
  const LockTables& tables = at.tables;
  const SessionRow session_row = live_session(at, found, reply);
  if (session_row.value == 0) {
    return;
  }
  const RequestRow row = find_request(tables, tables.sessions[session_row], command.sequence);
  const bool waits = row.value != 0 && tables.requests[row].code == LockCode::Waiting &&
                     tables.requests[row].enqueued_at.value == command.token.value;
  if (!waits) {
    reply.code = LockCode::NotWaiting;
    return;
  }
  const LockRow lock = tables.requests[row].lock;
  end_wait(tables, row, LockCode::Deadlock, FencingToken{}, at.events);
  if (is_marked(tables.locks[lock])) {
    wake(tables, lock, at.index, at.events);
  }
  reply.code = LockCode::Deadlock;
}

// The session is registered by now; `added` says that it was not before.
GCOORD_HD inline void apply_register(const ApplyPoint& at,
                                     SessionRow found,
                                     bool added,
                                     LockReply& reply) {
  if (live_session(at, found, reply).value != 0) {
    reply.code = LockCode::SessionRegistered;
    reply.replayed = !added;
  }
}

// Ends a session: by its owner's wish, or because its time ran out. Closing what is closed is a
// success: the client may have missed the first answer.
GCOORD_HD inline void apply_end(const ApplyPoint& at,
                                const LockCommand& command,
                                SessionRow row,
                                LockReply& reply) {
  const bool expires = command.kind == LockCommandKind::ExpireSession;
  reply.code = expires ? LockCode::SessionExpired : LockCode::SessionClosed;
  if (row.value == 0) {
    reply.code = expires ? LockCode::SessionUnknown : LockCode::SessionClosed;
    reply.replayed = !expires;
    return;
  }
  if (!end_of(command).means(at.tables.sessions[row])) {
    reply.code = LockCode::SerialStale;
    return;
  }
  end_session(at.tables, row, at.index, at.events, reply);
}

GCOORD_HD constexpr bool registers(const LockCommand& command) {
  return command.kind == LockCommandKind::RegisterSession ||
         ((command.kind == LockCommandKind::Acquire ||
           command.kind == LockCommandKind::GroupRequest) &&
          (command.flags & kAcquireRegister) != 0);
}

// A command of a known kind that has a session.
GCOORD_HD inline void apply_of_session(const ApplyPoint& at,
                                       const LockCommand& command,
                                       LockReply& reply) {
  if (command.session == kKeeperSession) {
    reply.code = LockCode::SessionUnknown;
    return;
  }
  SessionRow row = find_session(at.tables, at.shard, command.session, at.keys);
  const bool adds = row.value == 0 && registers(command);
  if (adds) {
    row = register_session(at.tables, at.shard, command, at.keys, reply);
  }
  if (concerns_lock(command.kind) || command.kind == LockCommandKind::GroupRequest) {
    return apply_request(at, command, row, reply);
  }
  // A withdrawal finds that the request of a group is known; the group does the rest.
  if (command.kind == LockCommandKind::CancelWait ||
      command.kind == LockCommandKind::GroupWithdraw) {
    return apply_cancel_wait(at, command, row, reply);
  }
  if (command.kind == LockCommandKind::BreakWait) {
    return apply_break_wait(at, command, row, reply);
  }
  if (command.kind == LockCommandKind::RegisterSession) {
    return apply_register(at, row, adds, reply);
  }
  apply_end(at, command, row, reply);
}

GCOORD_HD inline void apply_kind(const ApplyPoint& at,
                                 const LockCommand& command,
                                 LockReply& reply) {
  switch (command.kind) {
    case LockCommandKind::Acquire:
    case LockCommandKind::Release:
    case LockCommandKind::CancelWait:
    case LockCommandKind::BreakWait:
    case LockCommandKind::RegisterSession:
    case LockCommandKind::ExpireSession:
    case LockCommandKind::CloseSession:
    case LockCommandKind::Proclaim:
    case LockCommandKind::Transfer:
    case LockCommandKind::GroupRequest:
    case LockCommandKind::GroupWithdraw:
      return apply_of_session(at, command, reply);
    case LockCommandKind::BreakLock:
      return apply_break(at, command, reply);
    case LockCommandKind::EndDelay:
      return apply_end_delay(at, command, reply);
    case LockCommandKind::MoveOut:
      return apply_move_out(at, command, reply);
    case LockCommandKind::MoveIn:
      return apply_move_in(at, command, reply);
    case LockCommandKind::MoveDone:
      return apply_move_done(at, command, reply);
    case LockCommandKind::MoveLapse:
      return apply_move_lapse(at, command, reply);
    case LockCommandKind::Noop:
      reply.code = LockCode::Noop;
      return;
    case LockCommandKind::ExpireSessions:  // Applied as what it lists; see apply().
    case LockCommandKind::Unknown:
      break;
  }
  reply.code = LockCode::UnknownCommand;
}

// Extends the shard's hash chain by what the command was, what it answered and what it left.
GCOORD_HD inline void extend_chain(const ApplyPoint& at, const LockReply& reply) {
  LockShardRow& shard = at.tables.shard(at.shard);
  LockReply said = reply;
  if (at.tables.group_answers_apart && reply.code == LockCode::GroupTaken) {
    said.token = FencingToken{};
    said.holder = SessionId{};
  }
  shard.state_hash = shard.state_hash * kChainStep + chain_word(at.keys.digest, said, shard);
}

// Each end as apply() does it alone.
GCOORD_HD_APART LockReply apply_ends_apart(const LockTables& tables,
                                           ShardId shard,
                                           LogIndex index,
                                           const LockCommand& list,
                                           LockEvents& events) {
  return apply_ends(list, events, [&](const LockCommand& end, std::uint32_t) {
    const LockKeys keys = make_keys(tables, shard, index, end);
    const ApplyPoint at{tables, shard, index, keys, events};
    LockReply reply;
    apply_end(at, end, find_session(tables, shard, end.session, keys), reply);
    extend_chain(at, reply);
    return reply;
  });
}

// Applies one committed command, whose keys are known. A no-op leaves no trace at all, so a driver
// may skip the empty entries of Raft or pass them on.
GCOORD_HD inline LockReply apply(const LockTables& tables,
                                 ShardId shard,
                                 LogIndex index,
                                 const LockCommand& command,
                                 const LockKeys& keys,
                                 LockEvents& events) {
  GCOORD_ASSERT(events.has_room(kPlainEventsPerCommandMax));
  if (command.kind == LockCommandKind::ExpireSessions) {
    return apply_ends_apart(tables, shard, index, command, events);
  }
  const ApplyPoint at{tables, shard, index, keys, events};
  LockReply reply;
  apply_kind(at, command, reply);
  GCOORD_ASSERT(reply.code != LockCode::None);
  if (command.kind != LockCommandKind::Noop) {
    extend_chain(at, reply);
  }
  return reply;
}

// The same without anything known beforehand.
GCOORD_HD inline LockReply apply(const LockTables& tables,
                                 ShardId shard,
                                 LogIndex index,
                                 const LockCommand& command,
                                 LockEvents& events) {
  const LockKeys keys = make_keys(tables, shard, index, command);
  return apply(tables, shard, index, command, keys, events);
}

}  // namespace gcoord::locks
