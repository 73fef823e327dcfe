// Locks that several sessions hold together: readers of one lock, permits of a semaphore.
//
// A lock is held by one alone or by several together; both are states of the same name, so a writer
// is a plain acquire and a reader one that asks to share. Each of several holders has a share: a
// record of the lock pool with its own token, in its session's list of holds like any lock, and in
// the index under a hash of lock and session, so that a session finds its own in constant time. The
// lock's record, the head, is in no list of holds then; it shows the oldest share's holder and
// token to whoever asks who has the lock. Shares stand in the order of their tokens.
//
// Who shares waits in the same queue as everybody, in log order: it is let in when it comes first
// and those who hold the lock share as it does, so that a writer who waits is passed by nobody. At
// most kHoldersMax hold a lock together; that bounds every loop here, and the grants of one
// command. Semaphores with a limit and readers without one do not mix: until the last holder of one
// kind is gone, others are told (LimitDiffers).
//
// Contract: as lock_extra.h; the driver has reserved a lock row for each acquire that shares, which
// a waiter keeps. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/random.h"
#include "locks/state/broken.h"
#include "locks/state/extra.h"
#include "locks/state/queue.h"
#include "locks/state/residence.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

// The fields of a lock's record that a share uses otherwise.
GCOORD_HD inline LockRow share_next(const LockRecord& share) {
  return LockRow{share.queue_first.value};
}

GCOORD_HD inline LockRow share_previous(const LockRecord& share) {
  return LockRow{share.queue_last.value};
}

GCOORD_HD inline std::uint32_t share_permits(const LockRecord& share) {
  return share.waiter_count;
}

GCOORD_HD inline LockRow head_of(const LockRecord& share) {
  GCOORD_ASSERT(is_share(share));
  return LockRow{share.name_first.value & ~(kNameMarked | kNameShare)};
}

// Under which name a share is in the index. SameLock never finds it there.
GCOORD_HD inline NameHash share_name(NameHash name, SessionId session) {
  const std::uint64_t mixed = mix64(session.value + 1);
  return NameHash{mix64(name.low ^ mixed), mix64(name.high + mixed)};
}

// Whether a row is the session's share of this lock.
struct SameShare {
  const LockTables* tables;
  LockRow head;
  NameHash name;

  GCOORD_HD bool operator()(std::uint32_t row) const {
    const LockRecord& record = tables->locks[LockRow{row}];
    return record.name_hash == name && is_share(record) && head_of(record) == head;
  }
};

// The session's share of a lock that is held together, or none.
GCOORD_HD inline LockRow find_share(const LockTables& tables, LockRow head, SessionId session) {
  const LockRecord& lock = tables.locks[head];
  const NameHash name = share_name(lock.name_hash, session);
  const std::uint32_t hash = tables.lock_hash(lock.shard, name);
  return LockRow{tables.lock_index.find(hash, SameShare{&tables, head, name})};
}

// The head shows its oldest share, or nobody.
GCOORD_HD inline void show_oldest(const LockTables& tables, LockRow head, const LockExtra& extra) {
  LockRecord& lock = tables.locks[head];
  if (extra.share_count == 0) {
    lock.holder = SessionRow{};
    return;
  }
  const LockRecord& oldest = tables.locks[extra.share_first];
  lock.holder = oldest.holder;
  lock.token = oldest.token;
  lock.granted_at = oldest.granted_at;
}

// Makes a record that has a holder, a token above those of the lock's shares and its grant's index
// the newest share of the lock.
GCOORD_HD inline void attach_share(const LockTables& tables,
                                   LockRow head,
                                   LockRow row,
                                   const HoldOptions& ask) {
  const LockRecord& lock = tables.locks[head];
  LockExtra extra = load_extra(tables, lock);
  GCOORD_ASSERT(head.value < kNameShare);
  GCOORD_ASSERT(extra.share_count < kHoldersMax);
  LockRecord& share = tables.locks[row];
  share.name_hash = share_name(lock.name_hash, tables.sessions[share.holder].session);
  share.shard = lock.shard;
  share.waiter_count = ask.permits;
  share.name_first = NameBlockRow{head.value | kNameMarked | kNameShare};
  share.queue_first = RequestRow{};
  share.queue_last = RequestRow{extra.share_last.value};
  tables.lock_index.insert(tables.lock_hash(share.shard, share.name_hash), row.value);
  if (extra.share_count == 0) {
    extra.share_first = row;
    extra.permits_limit = ask.limit;
  } else {
    tables.locks[extra.share_last].queue_first = RequestRow{row.value};
  }
  extra.share_last = row;
  ++extra.share_count;
  extra.permits_used += ask.permits;
  store_extra(tables, lock, extra);
  show_oldest(tables, head, extra);
}

struct ShareGrant {
  SessionRow session;
  FencingToken token;
  LogIndex granted_at;
  HoldOptions ask;
};

// Makes the taken row the session's share of the lock, the newest one.
GCOORD_HD inline void add_share(const LockTables& tables,
                                LockRow head,
                                LockRow row,
                                const ShareGrant& grant) {
  tables.locks[row].token = grant.token;
  tables.locks[row].granted_at = grant.granted_at;
  link_holder(tables, row, grant.session);
  attach_share(tables, head, row, grant.ask);
}

// Takes the share out of the lock and gives its row back.
GCOORD_HD inline void drop_share(const LockTables& tables, LockRow row) {
  LockRecord& share = tables.locks[row];
  const LockRow head = head_of(share);
  LockExtra extra = load_extra(tables, tables.locks[head]);
  if (share_previous(share).value != 0) {
    tables.locks[share_previous(share)].queue_first = share.queue_first;
  } else {
    extra.share_first = share_next(share);
  }
  if (share_next(share).value != 0) {
    tables.locks[share_next(share)].queue_last = share.queue_last;
  } else {
    extra.share_last = share_previous(share);
  }
  --extra.share_count;
  extra.permits_used -= share_permits(share);
  store_extra(tables, tables.locks[head], extra);
  unlink_holder(tables, row);
  tables.lock_index.erase(tables.lock_hash(share.shard, share.name_hash), row.value);
  share.holder = SessionRow{};
  share.shard = kNoShard;
  share.name_hash = NameHash{};
  share.name_first = NameBlockRow{};
  share.queue_first = RequestRow{};
  share.queue_last = RequestRow{};
  share.waiter_count = 0;
  tables.locks.give_back(row);
  show_oldest(tables, head, extra);
}

// Whether one more may hold the lock together with those who do, or with nobody.
GCOORD_HD inline bool fits(const LockExtra& extra, const HoldOptions& ask) {
  if (extra.share_count == 0) {
    return true;
  }
  const bool room = ask.limit == 0 || extra.permits_used + ask.permits <= ask.limit;
  return extra.permits_limit == ask.limit && extra.share_count < kHoldersMax && room;
}

// Whether the first waiter of a marked lock may have it. A session has one share: a second wait of
// it stays until the first hold is over, as it does where a lock is held alone.
GCOORD_HD inline bool may_come_in(const LockTables& tables,
                                  LockRow row,
                                  const LockExtra& extra,
                                  const HoldOptions& ask) {
  const LockRecord& lock = tables.locks[row];
  if (lock.holder.value == 0) {
    return true;
  }
  if ((ask.flags & kHoldShared) == 0 || extra.share_count == 0 || !fits(extra, ask)) {
    return false;
  }
  const SessionRow session_row = tables.requests[lock.queue_first].session_row;
  return find_share(tables, row, tables.sessions[session_row].session).value == 0;
}

// Lets the first waiter of a marked lock have it; false when its time has not come.
GCOORD_HD inline bool let_in(const LockTables& tables,
                             LockRow row,
                             LogIndex index,
                             LockEvents& events) {
  LockRecord& lock = tables.locks[row];
  const RequestRow waiter_row = lock.queue_first;
  RequestRecord& waiter = tables.requests[waiter_row];
  const HoldOptions ask = unpack_ask(waiter.token.value);
  LockExtra extra = load_extra(tables, lock);
  if (!may_come_in(tables, row, extra, ask)) {
    return false;
  }
  FencingToken token;
  if ((ask.flags & kHoldShared) != 0) {
    token = next_token(tables, lock.shard);
    const LockRow share{static_cast<std::uint32_t>(waiter.holder.value)};
    add_share(tables, row, share, {waiter.session_row, token, index, ask});
  } else {
    extra.note_first = note_of(waiter);
    extra.delay_ms = ask.delay_ms;
    store_extra(tables, lock, extra);
    grant(tables, row, waiter.session_row, index);
    token = lock.token;
  }
  waiter.holder = SessionId{};  // What it kept is the lock's now.
  end_wait(tables, waiter_row, LockCode::Granted, token, events);
  return true;
}

// Lets in who may come in, in the order of the queue; a lock that nobody has goes, or is kept.
GCOORD_HD inline void wake(const LockTables& tables,
                           LockRow row,
                           LogIndex index,
                           LockEvents& events) {
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kHoldersMax && tables.locks[row].queue_first.value != 0; ++i) {
    if (!let_in(tables, row, index, events)) {
      break;
    }
  }
  if (tables.locks[row].holder.value == 0) {
    leave_free(tables, row);
  }
}

// A marked lock has no holder, and nothing that its last one left.
GCOORD_HD inline void clear_hold(const LockTables& tables, LockRow row) {
  LockExtra extra = load_extra(tables, tables.locks[row]);
  release_note(tables, extra.note_first);
  extra.note_first = NameBlockRow{};
  extra.hold_count = 1;
  extra.delay_ms = 0;
  store_extra(tables, tables.locks[row], extra);
  tables.locks[row].holder = SessionRow{};
}

// A holder lets go of what it holds of a marked lock: all of it, or its share; or of what stayed of
// a hold that was broken.
template <typename Events>
GCOORD_HD_APART void let_go(const LockTables& tables, LockRow row, LogIndex index, Events& events) {
  LockRow head = row;
  if (is_broken(tables.locks[row])) {
    drop_broken(tables, row);
    return;
  }
  if (is_share(tables.locks[row])) {
    head = head_of(tables.locks[row]);
    drop_share(tables, row);
  } else {
    unlink_holder(tables, row);
    clear_hold(tables, row);
  }
  wake(tables, head, index, events);
}

// The holder of a lock, or of a share of it, lets go: the next ones in the queue become holders, or
// the lock's record goes.
GCOORD_HD inline void pass_on(const LockTables& tables,
                              LockRow row,
                              LogIndex index,
                              LockEvents& events) {
  if (is_marked(tables.locks[row])) {
    let_go(tables, row, index, events);
  } else {
    pass_plain_on(tables, row, index, events);
  }
}

}  // namespace gcoord::locks
