// Commands of a holder that keep the lock: change the note, or hand the lock over to one of its
// waiters. An election is made of these (docs/reference/services.md, E2 and E6).
//
// Both are guarded by the holder's token, so whoever was deposed changes nothing. A transfer is one
// command: before it the one holds the lock, after it the other under the next token, and where it
// is refused nothing has changed. It passes over those who stand earlier in the queue; they keep
// their places. Who held the lock is not asked: the command is its own, given in its session.
//
// Contract: as lock_extra.h; the driver has reserved the blocks of a note and of a mark. Host and
// device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "locks/state/delay.h"
#include "locks/state/extra.h"
#include "locks/state/queue.h"
#include "locks/state/share.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

// Whether the session holds the lock alone under the command's token; the reply says why not.
GCOORD_HD inline bool holds_alone(const LockTables& tables,
                                  const LockCommand& command,
                                  SessionRow session_row,
                                  LockRow lock_row,
                                  LockReply& reply) {
  if (lock_row.value == 0) {
    reply.code = LockCode::NotHeld;
    return false;
  }
  if (answer_kept(tables, lock_row, reply)) {
    return false;
  }
  const LockRecord& lock = tables.locks[lock_row];
  const bool shared = is_marked(lock) && load_extra(tables, lock).share_count != 0;
  const LockRow own = shared ? find_share(tables, lock_row, command.session) : LockRow{};
  if (own.value != 0) {
    reply.code = LockCode::HoldConflict;
    reply.token = tables.locks[own].token;
    return false;
  }
  reply.token = lock.token;
  if (shared || lock.holder != session_row) {
    reply.code = LockCode::NotHolder;
    reply.holder = tables.sessions[lock.holder].session;
    return false;
  }
  if (lock.token != command.token) {
    reply.code = LockCode::StaleToken;
    return false;
  }
  return true;
}

GCOORD_HD inline void proclaim(const LockTables& tables,
                               const LockCommand& command,
                               LockRow lock_row,
                               LockReply& reply) {
  mark(tables, lock_row);
  const LockRecord& lock = tables.locks[lock_row];
  LockExtra extra = load_extra(tables, lock);
  release_note(tables, extra.note_first);
  extra.note_first = store_note(tables, note_start(command), command.note_bytes);
  store_extra(tables, lock, extra);
  reply.code = LockCode::Proclaimed;
}

// The session's oldest wait to hold the lock alone, or none.
GCOORD_HD inline RequestRow find_waiter(const LockTables& tables,
                                        ShardId shard,
                                        SessionId session,
                                        LockRow lock_row) {
  const SessionRow session_row = find_session(tables, shard, session);
  RequestRow row;
  if (session_row.value != 0) {
    row = first_request(tables.sessions[session_row]);
  }
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kSessionRequestsMax && row.value != 0; ++i) {
    const RequestRecord& request = tables.requests[row];
    if (request.code == LockCode::Waiting && request.lock == lock_row &&
        (unpack_ask(request.token.value).flags & kHoldShared) == 0) {
      return row;
    }
    row = request.next;
  }
  return RequestRow{};
}

// The waiter holds the lock from now on, with its own note and once.
GCOORD_HD inline void hand_over(const LockTables& tables,
                                LockRow lock_row,
                                RequestRow waiter_row,
                                LogIndex index,
                                LockEvents& events) {
  const LockRecord& lock = tables.locks[lock_row];
  RequestRecord& waiter = tables.requests[waiter_row];
  unlink_holder(tables, lock_row);
  if (is_marked(lock)) {
    LockExtra extra = load_extra(tables, lock);
    release_note(tables, extra.note_first);
    extra.note_first = note_of(waiter);
    extra.hold_count = 1;
    extra.delay_ms = unpack_ask(waiter.token.value).delay_ms;
    store_extra(tables, lock, extra);
  }
  waiter.holder = SessionId{};  // What it kept is the lock's now.
  grant(tables, lock_row, waiter.session_row, index);
  end_wait(tables, waiter_row, LockCode::Granted, lock.token, events);
}

// A Proclaim or a Transfer of a session that lives.
template <typename Point>
GCOORD_HD_APART void change_office_apart(const Point& at,
                                         const LockCommand& command,
                                         SessionRow session_row,
                                         LockRow lock_row,
                                         LockReply& reply) {
  const LockTables& tables = at.tables;
  if (!holds_alone(tables, command, session_row, lock_row, reply)) {
    return;
  }
  if (command.kind == LockCommandKind::Proclaim) {
    return proclaim(tables, command, lock_row, reply);
  }
  const SessionId target{office_word(command)};
  const RequestRow waiter_row = find_waiter(tables, at.shard, target, lock_row);
  if (waiter_row.value == 0) {
    reply.code = LockCode::TargetAbsent;
    return;
  }
  hand_over(tables, lock_row, waiter_row, at.index, at.events);
  reply.code = LockCode::Transferred;
  reply.token = tables.locks[lock_row].token;
  reply.holder = target;
}

}  // namespace gcoord::locks
