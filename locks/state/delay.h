// Locks that stay nobody's for a while after their holder failed.
//
// Whoever holds a lock may still write to what it guards for a moment after its session ran out,
// and not everything that is written to can look at a fencing token. Chubby's lock-delay (Burrows,
// OSDI 2006, section 2.4) keeps others out for that moment: an acquire says how long. A release, a
// close and a break pass the lock on at once; only an expiry starts a delay.
//
// How it is kept: the failed session stays registered, and what stays locked stands in a list of
// its own, which begins where a living session has its requests (a session that ended has none). So
// a lock in its delay still has a holder, whose tokens are stale because it does not live, and the
// queue waits on. There is no time here: a leader whose clock (delay_clock.h) says that a delay is
// over ends it by a command (lock_delay_end.h). Contract: as lock_extra.h. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/state/extra.h"
#include "locks/state/share.h"
#include "locks/state/table.h"

namespace gcoord::locks {

// The first of the locks that stay, newest first.
GCOORD_HD inline LockRow delayed_first(const SessionRecord& session) {
  return LockRow{session.phase == SessionPhase::Failed ? session.request_oldest.value : 0};
}

// The session's oldest request. A failed one has none: the locks that stay stand in that place.
GCOORD_HD inline RequestRow first_request(const SessionRecord& session) {
  return session.phase == SessionPhase::Failed ? RequestRow{} : session.request_oldest;
}

// Whether nobody has the lock because of its delay.
GCOORD_HD inline bool is_delayed(const LockTables& tables, const LockRecord& lock) {
  return is_marked(lock) && !is_share(lock) && load_extra(tables, lock).hold_count == 0;
}

// Whether the lock stays when its failed holder lets go of it.
GCOORD_HD inline bool wants_delay(const LockTables& tables, const LockRecord& lock) {
  return is_marked(lock) && !is_share(lock) && load_extra(tables, lock).delay_ms != 0;
}

// Puts a lock of a failed session in front of those that stay.
GCOORD_HD inline void link_delayed(const LockTables& tables, LockRow row, SessionRow session_row) {
  LockRecord& lock = tables.locks[row];
  SessionRecord& session = tables.sessions[session_row];
  GCOORD_ASSERT(session.phase == SessionPhase::Failed);
  GCOORD_ASSERT(session.request_count == 0);
  const LockRow next = delayed_first(session);
  lock.holder = session_row;
  lock.hold_next = next;
  lock.hold_previous = LockRow{};
  if (next.value != 0) {
    tables.locks[next].hold_previous = row;
  }
  session.request_oldest = RequestRow{row.value};
  ++session.hold_count;
}

GCOORD_HD inline void unlink_delayed(const LockTables& tables, LockRow row) {
  const LockRecord& lock = tables.locks[row];
  SessionRecord& session = tables.sessions[lock.holder];
  GCOORD_ASSERT(session.phase == SessionPhase::Failed);
  if (lock.hold_previous.value != 0) {
    tables.locks[lock.hold_previous].hold_next = lock.hold_next;
  } else {
    session.request_oldest = RequestRow{lock.hold_next.value};
  }
  if (lock.hold_next.value != 0) {
    tables.locks[lock.hold_next].hold_previous = lock.hold_previous;
  }
  GCOORD_ASSERT(session.hold_count > 0);
  --session.hold_count;
}

// The holder failed: the delay begins. The note goes with who left it.
GCOORD_HD inline void begin_delay(const LockTables& tables, LockRow row) {
  const SessionRow session_row = tables.locks[row].holder;
  unlink_holder(tables, row);
  LockExtra extra = load_extra(tables, tables.locks[row]);
  release_note(tables, extra.note_first);
  extra.note_first = NameBlockRow{};
  extra.hold_count = 0;
  store_extra(tables, tables.locks[row], extra);
  link_delayed(tables, row, session_row);
}

}  // namespace gcoord::locks
