// Taking a lock and giving it back: what an acquire and a release are answered, and what they
// change.
//
// The plain hold, alone and once, has the short path; what is marked or asks for more (lock_hold.h)
// goes apart. The caller has begun the request and knows that its session lives. Contract: as
// lock_apply.h. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "locks/state/extra.h"
#include "locks/state/import.h"
#include "locks/state/keys.h"
#include "locks/state/queue.h"
#include "locks/state/residence.h"
#include "locks/state/share.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

// Where a command applies, what is known of it beforehand, and where its events go.
struct ApplyPoint {
  const LockTables& tables;
  ShardId shard;
  LogIndex index;
  const LockKeys& keys;
  LockEvents& events;
};

// The lock is another's: queue for it, or say who has it.
GCOORD_HD inline void queue_or_refuse(const ApplyPoint& at,
                                      const LockCommand& command,
                                      LockRow lock_row,
                                      RequestRow request_row,
                                      LockReply& reply) {
  const LockTables& tables = at.tables;
  if ((command.flags & kAcquireWait) != 0) {
    reply.code = LockCode::Waiting;
    tables.requests[request_row].enqueued_at = at.index;
    enqueue_waiter(tables, lock_row, request_row);
    return;
  }
  const LockRecord& lock = tables.locks[lock_row];
  reply.code = LockCode::Busy;
  reply.token = lock.token;
  reply.holder = tables.sessions[lock.holder].session;
}

// The session asks for what it holds alone and has marked: the same hold, or one more of it.
GCOORD_HD inline void count_hold(const LockTables& tables,
                                 const HoldOptions& ask,
                                 LockRow lock_row,
                                 LockReply& reply) {
  mark(tables, lock_row);
  const LockRecord& lock = tables.locks[lock_row];
  LockExtra extra = load_extra(tables, lock);
  if (extra.hold_count >= ask.limit) {
    reply.code = LockCode::HoldLimit;
    return;
  }
  ++extra.hold_count;
  store_extra(tables, lock, extra);
  reply.code = LockCode::HeldAgain;
}

// The holder becomes the first of several, under its token; who shares and stands first comes in.
GCOORD_HD inline void downgrade(const ApplyPoint& at,
                                const HoldOptions& ask,
                                LockRow lock_row,
                                LockReply& reply) {
  const LockTables& tables = at.tables;
  mark(tables, lock_row);
  LockRecord& lock = tables.locks[lock_row];
  LockExtra extra = load_extra(tables, lock);
  if (extra.hold_count > 1) {
    reply.code = LockCode::HoldConflict;
    return;
  }
  release_note(tables, extra.note_first);
  extra.note_first = NameBlockRow{};
  extra.delay_ms = 0;
  store_extra(tables, lock, extra);
  const ShareGrant grant{lock.holder, lock.token, lock.granted_at, ask};
  unlink_holder(tables, lock_row);
  add_share(tables, lock_row, tables.locks.take(), grant);
  reply.code = LockCode::Downgraded;
  wake(tables, lock_row, at.index, at.events);
}

// The session asks again for what it holds alone.
GCOORD_HD inline void acquire_own(const ApplyPoint& at,
                                  const HoldOptions& ask,
                                  LockRow lock_row,
                                  LockReply& reply) {
  claim_grant(at.tables, lock_row);
  reply.token = at.tables.locks[lock_row].token;
  if ((ask.flags & kHoldReentrant) != 0) {
    count_hold(at.tables, ask, lock_row, reply);
  } else if ((ask.flags & kHoldDowngrade) != 0) {
    downgrade(at, ask, lock_row, reply);
  } else {
    reply.code = LockCode::AlreadyHeld;
  }
}

// The lock is held by several, and the session is or is not one of them.
GCOORD_HD inline void acquire_shared(const ApplyPoint& at,
                                     const LockCommand& command,
                                     LockRow lock_row,
                                     RequestRow request_row,
                                     LockReply& reply) {
  const LockTables& tables = at.tables;
  const LockRecord& lock = tables.locks[lock_row];
  const LockExtra extra = load_extra(tables, lock);
  const HoldOptions ask = hold_ask(command);
  const bool shares = (ask.flags & kHoldShared) != 0;
  const LockRow own = find_share(tables, lock_row, command.session);
  if (own.value != 0) {
    const bool same = shares && ask.limit == extra.permits_limit;
    reply.code = same ? LockCode::AlreadyHeld : LockCode::HoldConflict;
    reply.token = tables.locks[own].token;
  } else if ((ask.flags & kHoldDowngrade) != 0) {
    reply.code = LockCode::NotHolder;
    reply.token = lock.token;
    reply.holder = tables.sessions[lock.holder].session;
  } else if (shares && ask.limit != extra.permits_limit) {
    reply.code = LockCode::LimitDiffers;
  } else if (shares && lock.waiter_count == 0 && fits(extra, ask)) {
    const FencingToken token = next_token(tables, at.shard);
    const SessionRow session_row = tables.requests[request_row].session_row;
    add_share(tables, lock_row, tables.locks.take(), {session_row, token, at.index, ask});
    reply.code = LockCode::Granted;
    reply.token = token;
  } else {
    queue_or_refuse(at, command, lock_row, request_row, reply);
  }
}

// The session takes a marked lock that nobody has, as it asks.
GCOORD_HD inline void take_marked(const ApplyPoint& at,
                                  const LockCommand& command,
                                  LockRow lock_row,
                                  SessionRow session_row,
                                  LockReply& reply) {
  const LockTables& tables = at.tables;
  const HoldOptions ask = hold_ask(command);
  reply.code = LockCode::Granted;
  if ((ask.flags & kHoldShared) != 0) {
    reply.token = next_token(tables, at.shard);
    add_share(tables, lock_row, tables.locks.take(), {session_row, reply.token, at.index, ask});
    return;
  }
  const LockRecord& lock = tables.locks[lock_row];
  LockExtra extra = load_extra(tables, lock);
  extra.note_first = store_note(tables, note_start(command), command.note_bytes);
  extra.delay_ms = ask.delay_ms;
  store_extra(tables, lock, extra);
  grant(tables, lock_row, session_row, at.index);
  reply.token = lock.token;
}

// Nobody has the lock, but its record stands: the name was moved.
GCOORD_HD inline void acquire_kept(const ApplyPoint& at,
                                   const LockCommand& command,
                                   LockRow lock_row,
                                   SessionRow session_row,
                                   LockReply& reply) {
  answer_kept(at.tables, lock_row, reply);
  if (reply.code == LockCode::NotHeld && (command.hold_flags & kHoldDowngrade) == 0) {
    take_from_keeper(at.tables, lock_row);
    take_marked(at, command, lock_row, session_row, reply);
  }
}

// The lock is held, and it is marked or the acquire asks for more than a plain hold.
template <typename Point>
GCOORD_HD_APART void acquire_held_apart(const Point& at,
                                        const LockCommand& command,
                                        LockRow lock_row,
                                        RequestRow request_row,
                                        LockReply& reply) {
  const LockTables& tables = at.tables;
  const LockRecord& lock = tables.locks[lock_row];
  if (adopt_import(tables, command, lock_row, request_row, reply)) {
    return;
  }
  if (is_kept(tables, lock)) {
    acquire_kept(at, command, lock_row, tables.requests[request_row].session_row, reply);
  } else if (is_marked(lock) && load_extra(tables, lock).share_count != 0) {
    acquire_shared(at, command, lock_row, request_row, reply);
  } else if (lock.holder == tables.requests[request_row].session_row) {
    acquire_own(at, hold_ask(command), lock_row, reply);
  } else if ((command.hold_flags & kHoldDowngrade) != 0) {
    reply.code = LockCode::NotHolder;
    reply.token = lock.token;
    reply.holder = tables.sessions[lock.holder].session;
  } else {
    queue_or_refuse(at, command, lock_row, request_row, reply);
    const bool delayed = is_marked(lock) && load_extra(tables, lock).hold_count == 0;
    reply.code = delayed && reply.code == LockCode::Busy ? LockCode::LockDelayed : reply.code;
  }
}

// The lock is held: say so, or queue.
GCOORD_HD inline void acquire_held(const ApplyPoint& at,
                                   const LockCommand& command,
                                   LockRow lock_row,
                                   RequestRow request_row,
                                   LockReply& reply) {
  const LockTables& tables = at.tables;
  const LockRecord& lock = tables.locks[lock_row];
  if (command_asks(command) || is_marked(lock)) {
    acquire_held_apart(at, command, lock_row, request_row, reply);
  } else if (lock.holder == tables.requests[request_row].session_row) {
    reply.code = LockCode::AlreadyHeld;
    reply.token = lock.token;
  } else {
    queue_or_refuse(at, command, lock_row, request_row, reply);
  }
}

// The lock is free, and the acquire asks for more than a plain hold.
template <typename Point>
GCOORD_HD_APART void acquire_free_apart(const Point& at,
                                        const LockCommand& command,
                                        SessionRow session_row,
                                        LockReply& reply) {
  if ((command.hold_flags & kHoldDowngrade) != 0) {
    reply.code = LockCode::NotHeld;
    return;
  }
  const LockRow lock_row =
      create_lock(at.tables,
                  at.shard,
                  LockName{command.name_hash, command.name, command.name_bytes},
                  at.keys.lock_hash);
  mark(at.tables, lock_row);
  take_marked(at, command, lock_row, session_row, reply);
}

// What a waiter asks for, once its reply is stored; and it takes what it will need.
template <typename Point>
GCOORD_HD_APART void keep_ask_apart(const Point& at,
                                    const LockCommand& command,
                                    RequestRow request_row) {
  const LockTables& tables = at.tables;
  mark(tables, tables.requests[request_row].lock);
  const HoldOptions ask = hold_ask(command);
  const bool shares = (ask.flags & kHoldShared) != 0;
  keep_ask(tables,
           request_row,
           ask,
           shares ? tables.locks.take().value
                  : store_note(tables, note_start(command), command.note_bytes).value);
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
  if (command_asks(command)) {
    acquire_free_apart(at, command, session_row, reply);
    return;
  }
  const LockTables& tables = at.tables;
  const LockRow lock_row =
      create_lock(tables,
                  at.shard,
                  LockName{command.name_hash, command.name, command.name_bytes},
                  at.keys.lock_hash);
  grant(tables, lock_row, session_row, at.index);
  reply.code = LockCode::Granted;
  reply.token = tables.locks[lock_row].token;
}

// Frees a marked lock, or a share of it, or gives one hold of several back.
template <typename Point>
GCOORD_HD_APART void release_apart(const Point& at,
                                   const LockCommand& command,
                                   SessionRow session_row,
                                   LockRow lock_row,
                                   LockReply& reply) {
  const LockTables& tables = at.tables;
  if (answer_kept(tables, lock_row, reply)) {
    return;
  }
  const LockRecord& lock = tables.locks[lock_row];
  LockExtra extra = load_extra(tables, lock);
  const bool shared = extra.share_count != 0;
  const LockRow own = shared ? find_share(tables, lock_row, command.session)
                             : LockRow{lock.holder == session_row ? lock_row.value : 0};
  if (own.value == 0) {
    reply.code = LockCode::NotHolder;
    reply.token = lock.token;
    reply.holder = tables.sessions[lock.holder].session;
    return;
  }
  reply.token = tables.locks[own].token;
  if (reply.token != command.token) {
    reply.code = LockCode::StaleToken;
  } else if (extra.hold_count > 1 && (command.flags & kReleaseByToken) == 0) {
    // A token makes a release happen once only where nothing is left of what it stands for.
    --extra.hold_count;
    store_extra(tables, lock, extra);
    reply.code = LockCode::HoldReturned;
  } else {
    reply.code = LockCode::Released;
    pass_on(tables, own, at.index, at.events);
  }
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
  } else if (is_marked(tables.locks[lock_row])) {
    release_apart(at, command, session_row, lock_row, reply);
  } else if (tables.locks[lock_row].holder != session_row) {
    reply.code = LockCode::NotHolder;
    reply.token = tables.locks[lock_row].token;
    reply.holder = tables.sessions[tables.locks[lock_row].holder].session;
  } else if (tables.locks[lock_row].token != command.token) {
    reply.code = LockCode::StaleToken;
    reply.token = tables.locks[lock_row].token;
  } else {
    reply.code = LockCode::Released;
    reply.token = command.token;
    pass_plain_on(tables, lock_row, at.index, at.events);
  }
}

}  // namespace gcoord::locks
