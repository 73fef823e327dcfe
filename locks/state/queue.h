// One lock: grant it, queue for it, pass it on. FIFO by log order.
//
// Every waiter in a queue belongs to a live session, because the end of a session removes its
// waiters in the same command; so a release grants to the first in the queue, in constant time,
// however many wait. Pure functions over the tables, without loops. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/tables/row_list.h"
#include "locks/state/extra.h"
#include "locks/state/names.h"
#include "locks/state/requests.h"
#include "locks/state/table.h"

namespace gcoord::locks {

using HoldList = RowList<&LockRecord::hold_next, &LockRecord::hold_previous>;
using WaiterList = RowList<&RequestRecord::queue_next, &RequestRecord::queue_previous>;

// Makes the session the holder of a lock that has none.
GCOORD_HD inline void link_holder(const LockTables& tables, LockRow row, SessionRow session_row) {
  LockRecord& lock = tables.locks[row];
  SessionRecord& session = tables.sessions[session_row];
  lock.holder = session_row;
  HoldList::push_first(tables.locks, row, session.hold_first);
  ++session.hold_count;
}

GCOORD_HD inline FencingToken next_token(const LockTables& tables, ShardId shard) {
  return FencingToken{++tables.shard(shard).token_last};
}

// Grants to the session, under the shard's next fencing token.
GCOORD_HD inline void grant(const LockTables& tables,
                            LockRow row,
                            SessionRow session_row,
                            LogIndex index) {
  LockRecord& lock = tables.locks[row];
  GCOORD_ASSERT(tables.sessions[session_row].phase == SessionPhase::Live);
  lock.token = next_token(tables, lock.shard);
  lock.granted_at = index;
  link_holder(tables, row, session_row);
}

GCOORD_HD inline void unlink_holder(const LockTables& tables, LockRow row) {
  const LockRecord& lock = tables.locks[row];
  SessionRecord& session = tables.sessions[lock.holder];
  HoldList::unlink(tables.locks, row, session.hold_first);
  GCOORD_ASSERT(session.hold_count > 0);
  --session.hold_count;
}

// The name of a lock to be: its identity and its bytes.
struct LockName {
  NameHash hash;
  const char* bytes = nullptr;
  std::uint32_t byte_count = 0;
};

// A record for a free lock, without a holder yet. `hash` is that of the index.
GCOORD_HD inline LockRow create_lock(const LockTables& tables,
                                     ShardId shard,
                                     const LockName& name,
                                     std::uint32_t hash) {
  const LockRow row = tables.locks.take();
  LockRecord& lock = tables.locks[row];
  lock.name_hash = name.hash;
  lock.shard = shard;
  lock.name_first = store_name(tables, name.bytes, name.byte_count);
  tables.lock_index.insert(hash, row.value);
  ++tables.shard(shard).lock_count;
  return row;
}

GCOORD_HD inline void remove_lock(const LockTables& tables, LockRow row) {
  LockRecord& lock = tables.locks[row];
  GCOORD_ASSERT(lock.waiter_count == 0);
  if (is_marked(lock)) {
    unmark(tables, row);
  }
  tables.lock_index.erase(tables.lock_hash(lock.shard, lock.name_hash), row.value);
  release_name(tables, lock.name_first);
  --tables.shard(lock.shard).lock_count;
  lock.holder = SessionRow{};
  lock.shard = kNoShard;
  lock.name_hash = NameHash{};
  tables.locks.give_back(row);
}

GCOORD_HD inline void enqueue_waiter(const LockTables& tables, LockRow row, RequestRow waiter_row) {
  LockRecord& lock = tables.locks[row];
  RequestRecord& waiter = tables.requests[waiter_row];
  waiter.lock = row;
  WaiterList::push_last(
      tables.requests, waiter_row, RowEnds<RequestRow>{lock.queue_first, lock.queue_last});
  ++lock.waiter_count;
  ++tables.shard(lock.shard).waiter_count;
  ++*tables.waiter_count;
}

// Takes a waiter out of its queue, wherever it stands.
GCOORD_HD inline void dequeue_waiter(const LockTables& tables, RequestRow waiter_row) {
  RequestRecord& waiter = tables.requests[waiter_row];
  LockRecord& lock = tables.locks[waiter.lock];
  WaiterList::unlink(
      tables.requests, waiter_row, RowEnds<RequestRow>{lock.queue_first, lock.queue_last});
  waiter.lock = LockRow{};
  waiter.queue_next = RequestRow{};
  waiter.queue_previous = RequestRow{};
  GCOORD_ASSERT(lock.waiter_count > 0);
  --lock.waiter_count;
  --tables.shard(lock.shard).waiter_count;
  --*tables.waiter_count;
}

// Ends a wait: out of the queue, its reply stored as the session's newest, and told by an event.
// Whoever grants to it has taken what it kept.
GCOORD_HD inline void end_wait(const LockTables& tables,
                               RequestRow waiter_row,
                               LockCode code,
                               FencingToken token,
                               LockEvents& events) {
  RequestRecord& waiter = tables.requests[waiter_row];
  GCOORD_ASSERT(waiter.code == LockCode::Waiting);
  if (waiter.holder.value != 0) {
    release_kept(tables, waiter);
    waiter.holder = SessionId{};
  }
  const LockRecord& lock = tables.locks[waiter.lock];
  LockEvent event;
  event.code = code;
  event.shard = lock.shard;
  event.session = tables.sessions[waiter.session_row].session;
  event.sequence = waiter.sequence;
  event.name = lock.name_hash;
  event.token = token;
  dequeue_waiter(tables, waiter_row);
  waiter.code = code;
  waiter.token = token;
  waiter.enqueued_at = LogIndex{};
  unlink_request(tables, waiter_row);
  link_request(tables, waiter_row);
  events.push(event);
}

// The holder lets go of a lock that is not marked: the first waiter becomes the holder, or the
// lock's record goes.
GCOORD_HD inline void pass_plain_on(const LockTables& tables,
                                    LockRow row,
                                    LogIndex index,
                                    LockEvents& events) {
  unlink_holder(tables, row);
  const RequestRow waiter_row = tables.locks[row].queue_first;
  if (waiter_row.value == 0) {
    remove_lock(tables, row);
    return;
  }
  grant(tables, row, tables.requests[waiter_row].session_row, index);
  end_wait(tables, waiter_row, LockCode::Granted, tables.locks[row].token, events);
}

}  // namespace gcoord::locks
