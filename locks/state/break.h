// Breaking holds by force: an operator's command, whoever holds the lock.
//
// The holds end as if they had been released, so the next in the queue comes in under a higher
// token; what is left of them tells their holders (lock_broken.h). A command means holds by their
// tokens, which are granted once, so however often it comes a hold is broken once and a later
// holder never. Contract: as lock_apply.h. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/commands/command.h"
#include "locks/state/acquire.h"
#include "locks/state/broken.h"
#include "locks/state/delay.h"
#include "locks/state/delay_end.h"
#include "locks/state/extra.h"
#include "locks/state/share.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

GCOORD_HD constexpr bool means_hold(const LockCommand& command, FencingToken token) {
  return (command.flags & kBreakAll) != 0 ? token <= command.token : token == command.token;
}

// What a session that ended lost, nobody asks for.
GCOORD_HD inline void remember_broken(const ApplyPoint& at,
                                      const LockCommand& command,
                                      const LockRecord& hold) {
  if (at.tables.sessions[hold.holder].phase == SessionPhase::Live) {
    const LostHold lost{at.shard, hold.holder, hold.token, at.index};
    keep_broken(at.tables, lost, LockName{command.name_hash, command.name, command.name_bytes});
  }
}

// False when the lock is held under a token that the command does not mean.
GCOORD_HD inline bool break_alone(const ApplyPoint& at,
                                  const LockCommand& command,
                                  LockRow row,
                                  LockReply& reply) {
  const LockRecord& lock = at.tables.locks[row];
  if (!means_hold(command, lock.token)) {
    return false;
  }
  if (is_delayed(at.tables, lock)) {
    end_delay(at, row, reply);
    return true;
  }
  remember_broken(at, command, lock);
  pass_on(at.tables, row, at.index, at.events);
  return true;
}

// The same of a lock that is held together. The reply names the oldest that was broken.
GCOORD_HD inline bool break_shares(const ApplyPoint& at,
                                   const LockCommand& command,
                                   LockRow head,
                                   LockReply& reply) {
  const LockTables& tables = at.tables;
  LockRow row = load_extra(tables, tables.locks[head]).share_first;
  bool any = false;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kHoldersMax && row.value != 0; ++i) {
    const LockRecord& share = tables.locks[row];
    const LockRow next = share_next(share);
    if (means_hold(command, share.token)) {
      reply.token = any ? reply.token : share.token;
      reply.holder = any ? reply.holder : tables.sessions[share.holder].session;
      any = true;
      remember_broken(at, command, share);
      drop_share(tables, row);
    }
    row = next;
  }
  if (any) {
    wake(tables, head, at.index, at.events);
  }
  return any;
}

template <typename Point>
GCOORD_HD_APART void apply_break(const Point& at, const LockCommand& command, LockReply& reply) {
  const LockTables& tables = at.tables;
  const LockRow row = find_lock(tables, at.shard, command.name_hash);
  if (row.value == 0) {
    reply.code = LockCode::NotHeld;
    return;
  }
  if (answer_kept(tables, row, reply)) {
    return;
  }
  const LockRecord& lock = tables.locks[row];
  reply.token = lock.token;
  reply.holder = tables.sessions[lock.holder].session;
  const bool shared = is_marked(lock) && load_extra(tables, lock).share_count != 0;
  const bool broken =
      shared ? break_shares(at, command, row, reply) : break_alone(at, command, row, reply);
  reply.code = broken ? LockCode::Broken : LockCode::StaleToken;
}

// A release that did not find its hold: whether that was broken. The session knows then, unless the
// release is one by token, which may come again.
template <typename Point>
GCOORD_HD_APART void tell_broken(const Point& at,
                                 const LockCommand& command,
                                 SessionRow session_row,
                                 LockReply& reply) {
  const LockRow row = find_broken(at.tables, at.shard, command.name_hash, command.token);
  if (row.value == 0 || at.tables.locks[row].holder != session_row) {
    return;
  }
  reply = LockReply{};
  reply.code = LockCode::HoldBroken;
  reply.token = command.token;
  if ((command.flags & kReleaseByToken) == 0) {
    drop_broken(at.tables, row);
  }
}

}  // namespace gcoord::locks
