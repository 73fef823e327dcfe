// The end of a lock's delay (lock_delay.h): by the command EndDelay, or by a break.
//
// Contract: as lock_apply.h. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "locks/state/acquire.h"
#include "locks/state/delay.h"
#include "locks/state/session_locks.h"
#include "locks/state/share.h"
#include "locks/state/table.h"

namespace gcoord::locks {

// The delay is over: the next in the queue becomes the holder, or the lock's record goes. The last
// lock of a failed session takes the session with it; the reply says so.
GCOORD_HD inline void end_delay(const ApplyPoint& at, LockRow row, LockReply& reply) {
  const LockTables& tables = at.tables;
  const SessionRow session_row = tables.locks[row].holder;
  unlink_delayed(tables, row);
  clear_hold(tables, row);
  wake(tables, row, at.index, at.events);
  const SessionRecord& session = tables.sessions[session_row];
  if (session.hold_count == 0) {
    remove_session(tables, session_row);
    reply.change = RegistrationChange::Removed;
    reply.changed_row = session_row;
  }
}

template <typename Point>
GCOORD_HD_APART void apply_end_delay(const Point& at,
                                     const LockCommand& command,
                                     LockReply& reply) {
  const LockRow row = find_lock(at.tables, at.shard, command.name_hash);
  const bool stays = row.value != 0 && is_delayed(at.tables, at.tables.locks[row]) &&
                     at.tables.locks[row].token == command.token;
  if (!stays) {
    reply.code = LockCode::DelayOver;
    return;
  }
  reply.code = LockCode::DelayEnded;
  reply.token = command.token;
  reply.holder = at.tables.sessions[at.tables.locks[row].holder].session;
  end_delay(at, row, reply);
}

}  // namespace gcoord::locks
