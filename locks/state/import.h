// Waits that a moved lock brought along, until their sessions ask again.
//
// A client numbers its requests shard by shard, so a wait cannot keep its number where it comes to.
// It gets one that no client uses, and stands in the queue where it stood. When its session asks
// for the lock, which it does as soon as it was told that the lock has moved, that request takes
// over: the place in the queue, or the grant that was given meanwhile.
//
// A session that has given up, or whose client is gone while others keep it alive, never asks. So a
// place that nobody has asked after may be ended by a command (MoveLapse) which the leader sends
// when the session has had time enough (server/waits/orphaned_waits.h). It ends only what nobody
// was told of: an acquire that hears that the session holds the lock has claimed it, too. Others
// may have been told meanwhile that the session held it, so the session is told of the end: by the
// next acquire that waits for the lock, which ends as a wait that was given up. All of this is so
// only for places that came with a MoveIn which said so (kMoveInLapses), because nodes of older
// releases know neither. Contract: as lock_extra.h. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "locks/state/extra.h"
#include "locks/state/requests.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

// What such a request has in place of a hash of its arguments.
GCOORD_HD constexpr std::uint32_t import_hash(NameHash name) {
  return static_cast<std::uint32_t>(name.low);
}

// The session's oldest request for this lock that came with it and that nobody has asked after: a
// wait, the grant by which the session holds the lock, or one that lapsed. Or none.
GCOORD_HD inline RequestRow find_import(const LockTables& tables,
                                        SessionRow session_row,
                                        LockRow lock_row) {
  const LockRecord& lock = tables.locks[lock_row];
  RequestRow row = tables.sessions[session_row].request_oldest;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kSessionRequestsMax && row.value != 0; ++i) {
    const RequestRecord& request = tables.requests[row];
    const bool waits = request.code == LockCode::Waiting && request.lock == lock_row;
    const bool granted = request.code == LockCode::Granted && lock.holder == session_row &&
                         request.token == lock.token &&
                         request.argument_hash == import_hash(lock.name_hash);
    const bool lapsed = import_lapses(request.sequence) &&
                        request.code == LockCode::WaitCancelled &&
                        request.argument_hash == import_hash(lock.name_hash);
    if (is_imported(request.sequence) && (waits || granted || lapsed)) {
      return row;
    }
    row = request.next;
  }
  return RequestRow{};
}

// Whether the lock's holder was granted it by a wait that came with it, and has not asked after it.
GCOORD_HD inline bool holder_unasked(const LockTables& tables, LockRow lock_row) {
  const LockRecord& lock = tables.locks[lock_row];
  RequestRow row = tables.sessions[lock.holder].request_oldest;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kSessionRequestsMax && row.value != 0; ++i) {
    const RequestRecord& request = tables.requests[row];
    if (is_imported(request.sequence) && request.code == LockCode::Granted &&
        request.token == lock.token && request.argument_hash == import_hash(lock.name_hash)) {
      return true;
    }
    row = request.next;
  }
  return false;
}

// Whether the request is a place that came with this lock, lapses, and was not asked after: a wait
// for it, or the grant by which its session holds it.
GCOORD_HD inline bool is_unclaimed(const LockTables& tables, RequestRow row, LockRow lock_row) {
  const RequestRecord& request = tables.requests[row];
  const LockRecord& lock = tables.locks[lock_row];
  if (!import_lapses(request.sequence)) {
    return false;
  }
  if (request.code == LockCode::Waiting) {
    return request.lock == lock_row;
  }
  return request.code == LockCode::Granted && lock.holder == request.session_row &&
         request.token == lock.token && request.argument_hash == import_hash(lock.name_hash);
}

GCOORD_HD inline void forget_import(const LockTables& tables, RequestRow row) {
  unlink_request(tables, row);
  tables.requests.give_back(row);
}

// The session is told that it holds the lock: it has the grant that came with it, if one did.
GCOORD_HD inline void claim_grant(const LockTables& tables, LockRow lock_row) {
  const LockRecord& lock = tables.locks[lock_row];
  if (!is_marked(lock) || load_extra(tables, lock).residence != Residence::Here) {
    return;
  }
  RequestRow row = tables.sessions[lock.holder].request_oldest;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kSessionRequestsMax && row.value != 0; ++i) {
    const RequestRow next = tables.requests[row].next;
    if (tables.requests[row].code == LockCode::Granted && is_unclaimed(tables, row, lock_row)) {
      forget_import(tables, row);
    }
    row = next;
  }
}

// Puts a fresh request into the place of one that waits.
GCOORD_HD inline void replace_waiter(const LockTables& tables,
                                     RequestRow old_row,
                                     RequestRow fresh_row) {
  RequestRecord& old = tables.requests[old_row];
  RequestRecord& fresh = tables.requests[fresh_row];
  LockRecord& lock = tables.locks[old.lock];
  fresh.enqueued_at = old.enqueued_at;
  fresh.lock = old.lock;
  fresh.queue_next = old.queue_next;
  fresh.queue_previous = old.queue_previous;
  if (old.queue_previous.value != 0) {
    tables.requests[old.queue_previous].queue_next = fresh_row;
  } else {
    lock.queue_first = fresh_row;
  }
  if (old.queue_next.value != 0) {
    tables.requests[old.queue_next].queue_previous = fresh_row;
  } else {
    lock.queue_last = fresh_row;
  }
}

// Whether the acquire takes over what its session's wait has come to; then `reply` says what. One
// that does not wait, or asks for more than the plain, is about something else, and leaves the wait
// alone.
GCOORD_HD inline bool adopt_import(const LockTables& tables,
                                   const LockCommand& command,
                                   LockRow lock_row,
                                   RequestRow request_row,
                                   LockReply& reply) {
  const LockRecord& lock = tables.locks[lock_row];
  if ((command.flags & kAcquireWait) == 0 || command_asks(command) || !is_marked(lock) ||
      load_extra(tables, lock).residence != Residence::Here) {
    return false;
  }
  const RequestRow row = find_import(tables, tables.requests[request_row].session_row, lock_row);
  if (row.value == 0) {
    return false;
  }
  reply.code = tables.requests[row].code;
  reply.replayed = true;  // Whoever looks on has been told of it.
  if (reply.code == LockCode::Waiting) {
    GCOORD_ASSERT(tables.requests[row].holder.value == 0);
    replace_waiter(tables, row, request_row);
  } else if (reply.code == LockCode::Granted) {
    reply.token = lock.token;
  }
  forget_import(tables, row);
  return true;
}

}  // namespace gcoord::locks
