// The lock service's pure step: apply(tables, shard, index, command) -> reply, and events.
//
// Content and replies depend on the shard's commands alone: not on the clock, on other shards, on
// which rows the pools gave, or on capacities. The driver has reserved rows for the command
// (lock_cpu.h), so applying cannot fail; a command that makes no sense is answered with a code and
// changes nothing. No allocation, no recursion, every loop bounded. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/lock_chain.h"
#include "locks/lock_command.h"
#include "locks/lock_extra.h"
#include "locks/lock_keys.h"
#include "locks/lock_queue.h"
#include "locks/lock_reply.h"
#include "locks/lock_requests.h"
#include "locks/lock_sessions.h"
#include "locks/lock_table.h"

namespace gcoord::locks {

// Where a command applies, what is known of it beforehand, and where its events go.
struct ApplyPoint {
  const LockTables& tables;
  ShardId shard;
  LogIndex index;
  const LockKeys& keys;
  LockEvents& events;
};

// The session of a command if it lives; none, with the reason in reply, if not.
GCOORD_HD inline SessionRow live_session(const ApplyPoint& at, SessionRow row, LockReply& reply) {
  if (row.value == 0) {
    reply.code = LockCode::SessionUnknown;
    return row;
  }
  if (at.tables.sessions[row].phase == SessionPhase::Dying) {
    reply.code = LockCode::SessionExpired;
    return SessionRow{};
  }
  return row;
}

// The session asks for what it holds: the same hold, or one more of it.
template <typename Point>
GCOORD_HD_APART void acquire_again(const Point& at,
                                   const HoldAsk& ask,
                                   LockRow lock_row,
                                   LockReply& reply) {
  const LockTables& tables = at.tables;
  const LockRecord& lock = tables.locks[lock_row];
  reply.token = lock.token;
  if ((ask.flags & kHoldReentrant) == 0) {
    reply.code = LockCode::AlreadyHeld;
    return;
  }
  mark(tables, lock_row);
  LockExtra extra = load_extra(tables, lock);
  if (extra.hold_count >= ask.limit) {
    reply.code = LockCode::HoldLimit;
    return;
  }
  ++extra.hold_count;
  store_extra(tables, lock, extra);
  reply.code = LockCode::HeldAgain;
}

// The lock is held: say so, or queue.
GCOORD_HD inline void acquire_held(const ApplyPoint& at,
                                   const LockCommand& command,
                                   LockRow lock_row,
                                   RequestRow request_row,
                                   LockReply& reply) {
  const LockTables& tables = at.tables;
  const LockRecord& lock = tables.locks[lock_row];
  if (lock.holder == tables.requests[request_row].session_row) {
    reply.code = LockCode::AlreadyHeld;
    reply.token = lock.token;
    if ((command.flags & kAcquireHold) != 0) {
      acquire_again(at, hold_ask(command), lock_row, reply);
    }
    return;
  }
  if ((command.flags & kAcquireWait) != 0) {
    reply.code = LockCode::Waiting;
    tables.requests[request_row].enqueued_at = at.index;
    enqueue_waiter(tables, lock_row, request_row);
    return;
  }
  reply.code = LockCode::Busy;
  reply.token = lock.token;
  reply.holder = tables.sessions[lock.holder].session;
}

// What the holder to be of a fresh lock asks for.
template <typename Point>
GCOORD_HD_APART void ask_of_holder(const Point& at, const LockCommand& command, LockRow lock_row) {
  mark(at.tables, lock_row);
  const LockRecord& lock = at.tables.locks[lock_row];
  LockExtra extra = load_extra(at.tables, lock);
  extra.note_first = store_note(at.tables, note_start(command), command.note_bytes);
  store_extra(at.tables, lock, extra);
}

// The same of a waiter, once its reply is stored.
template <typename Point>
GCOORD_HD_APART void ask_of_waiter(const Point& at,
                                   const LockCommand& command,
                                   RequestRow request_row) {
  mark(at.tables, at.tables.requests[request_row].lock);
  keep_ask(at.tables,
           request_row,
           hold_ask(command),
           store_note(at.tables, note_start(command), command.note_bytes));
}

// Takes the lock, if it is free.
GCOORD_HD inline void acquire(const ApplyPoint& at,
                              const LockCommand& command,
                              SessionRow session_row,
                              LockRow found,
                              RequestRow request_row,
                              LockReply& reply) {
  if (found.value != 0) {
    acquire_held(at, command, found, request_row, reply);
    return;
  }
  const LockTables& tables = at.tables;
  const LockRow lock_row =
      create_lock(tables,
                  at.shard,
                  LockName{command.name_hash, command.name, command.name_bytes},
                  at.keys.lock_hash);
  if ((command.flags & kAcquireHold) != 0) {
    ask_of_holder(at, command, lock_row);
  }
  grant(tables, lock_row, session_row, at.index);
  reply.code = LockCode::Granted;
  reply.token = tables.locks[lock_row].token;
}

// Gives one hold of several back; false when there is but one, or all are to go.
template <typename Point>
GCOORD_HD_APART bool return_hold(const Point& at, const LockCommand& command, LockRow row) {
  const LockRecord& lock = at.tables.locks[row];
  LockExtra extra = load_extra(at.tables, lock);
  // A token makes a release happen once only where nothing is left of what it stands for.
  if (extra.hold_count == 1 || (command.flags & kReleaseByToken) != 0) {
    return false;
  }
  --extra.hold_count;
  store_extra(at.tables, lock, extra);
  return true;
}

// Frees the lock if the session holds it under the command's token; says why not otherwise.
GCOORD_HD inline void release(const ApplyPoint& at,
                              const LockCommand& command,
                              SessionRow session_row,
                              LockRow lock_row,
                              LockReply& reply) {
  const LockTables& tables = at.tables;
  if (lock_row.value == 0) {
    reply.code = LockCode::NotHeld;
  } else if (tables.locks[lock_row].holder != session_row) {
    reply.code = LockCode::NotHolder;
    reply.token = tables.locks[lock_row].token;
    reply.holder = tables.sessions[tables.locks[lock_row].holder].session;
  } else if (tables.locks[lock_row].token != command.token) {
    reply.code = LockCode::StaleToken;
    reply.token = tables.locks[lock_row].token;
  } else if (is_marked(tables.locks[lock_row]) && return_hold(at, command, lock_row)) {
    reply.code = LockCode::HoldReturned;
    reply.token = command.token;
  } else {
    reply.code = LockCode::Released;
    reply.token = command.token;
    pass_on(tables, lock_row, at.index, at.events);
  }
}

// An acquire or a release: what they share stands here once.
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
  const LockRow lock_row = find_lock(at.tables, at.shard, command.name_hash, at.keys);
  if (acquires) {
    acquire(at, command, session_row, lock_row, request_row, reply);
  } else {
    release(at, command, session_row, lock_row, reply);
  }
  if (remembered) {
    store_reply(at.tables, request_row, reply);
  }
  if (reply.code == LockCode::Waiting && (command.flags & kAcquireHold) != 0) {
    ask_of_waiter(at, command, request_row);
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
    end_wait(tables,
             row,
             timed_out ? LockCode::WaitTimedOut : LockCode::WaitCancelled,
             FencingToken{},
             at.events);
  } else {
    reply.replayed = true;
  }
  reply.code = tables.requests[row].code;
  reply.token = tables.requests[row].token;
  reply.holder = tables.requests[row].holder;
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
  if (expires && at.tables.sessions[row].serial != command.serial) {
    reply.code = LockCode::SerialStale;
    return;
  }
  end_session(at.tables, row, at.index, at.events, reply);
}

GCOORD_HD constexpr bool registers(const LockCommand& command) {
  return command.kind == LockCommandKind::RegisterSession ||
         (command.kind == LockCommandKind::Acquire && (command.flags & kAcquireRegister) != 0);
}

// A command of a known kind that has a session.
GCOORD_HD inline void apply_of_session(const ApplyPoint& at,
                                       const LockCommand& command,
                                       LockReply& reply) {
  SessionRow row = find_session(at.tables, at.shard, command.session, at.keys);
  const bool adds = row.value == 0 && registers(command);
  if (adds) {
    row = register_session(at.tables, at.shard, command, at.keys, reply);
  }
  if (names_lock(command.kind)) {
    return apply_request(at, command, row, reply);
  }
  if (command.kind == LockCommandKind::CancelWait) {
    return apply_cancel_wait(at, command, row, reply);
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
    case LockCommandKind::RegisterSession:
    case LockCommandKind::ExpireSession:
    case LockCommandKind::CloseSession:
      return apply_of_session(at, command, reply);
    case LockCommandKind::Noop:
      reply.code = LockCode::Noop;
      return;
    case LockCommandKind::Unknown:
      break;
  }
  reply.code = LockCode::UnknownCommand;
}

// Extends the shard's hash chain by what the command was, what it answered and what it left.
GCOORD_HD inline void extend_chain(const ApplyPoint& at, const LockReply& reply) {
  LockShardRow& shard = at.tables.shard(at.shard);
  shard.state_hash = shard.state_hash * kChainStep + chain_word(at.keys.digest, reply, shard);
}

// Applies one committed command, whose keys are known. A no-op leaves no trace at all, so a driver
// may skip the empty entries of Raft or pass them on.
GCOORD_HD inline LockReply apply(const LockTables& tables,
                                 ShardId shard,
                                 LogIndex index,
                                 const LockCommand& command,
                                 const LockKeys& keys,
                                 LockEvents& events) {
  GCOORD_ASSERT(events.has_room(kLockEventsPerCommandMax));
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
