// Names that were moved between shards: the records of theirs that stand while nobody holds them.
//
// A lock has a record while it is held. A name that was moved has one for ever in every shard that
// it has been to: it says that the lock is away, and where, or that it is here although the name's
// hash says otherwise, and it has the number of the newest move, so that an older one that comes
// late changes nothing. While nobody holds the lock such a record is in the list of holds of the
// shard's keeper, a session that is no client's; so it has a holder and a place in snapshots like
// every other, and it is marked, so that plain locks never look for it.
//
// Contract: as lock_extra.h. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/commands/reply.h"
#include "locks/state/extra.h"
#include "locks/state/queue.h"
#include "locks/state/table.h"

namespace gcoord::locks {

// Whether nobody holds the lock and its record stands for the name's sake.
GCOORD_HD inline bool is_kept(const LockTables& tables, const LockRecord& lock) {
  return tables.sessions[lock.holder].session == kKeeperSession;
}

// The lock of this name in this shard if somebody holds it, or none.
GCOORD_HD inline LockRow find_held(const LockTables& tables, ShardId shard, NameHash name) {
  const LockRow row = find_lock(tables, shard, name);
  return row.value != 0 && is_kept(tables, tables.locks[row]) ? LockRow{} : row;
}

// If nobody holds it: says so, or where the lock is.
GCOORD_HD inline bool answer_kept(const LockTables& tables, LockRow row, LockReply& reply) {
  const LockRecord& lock = tables.locks[row];
  if (!is_kept(tables, lock)) {
    return false;
  }
  const LockExtra extra = load_extra(tables, lock);
  reply.code = LockCode::NotHeld;
  if (extra.residence == Residence::Away) {
    reply.code = LockCode::Moved;
    reply.token = FencingToken{extra.away_to.value};
  }
  return true;
}

// The keeper takes a record without a holder. The shard has one since its first move.
GCOORD_HD inline void give_to_keeper(const LockTables& tables, LockRow row) {
  const SessionRow keeper = find_session(tables, tables.locks[row].shard, kKeeperSession);
  GCOORD_ASSERT(keeper.value != 0);
  link_holder(tables, row, keeper);
}

// The record has no holder then.
GCOORD_HD inline void take_from_keeper(const LockTables& tables, LockRow row) {
  GCOORD_ASSERT(is_kept(tables, tables.locks[row]));
  unlink_holder(tables, row);
  tables.locks[row].holder = SessionRow{};
}

// Nobody has the marked lock any more.
GCOORD_HD inline void leave_free(const LockTables& tables, LockRow row) {
  if (load_extra(tables, tables.locks[row]).residence == Residence::Native) {
    remove_lock(tables, row);
  } else {
    give_to_keeper(tables, row);
  }
}

}  // namespace gcoord::locks
