// Forgetting a shard's state, before another one takes its place.
#include "locks/snapshot/snapshot.h"
#include "locks/state/broken.h"
#include "locks/state/delay.h"
#include "locks/state/queue.h"
#include "locks/state/requests.h"
#include "locks/state/session_locks.h"
#include "locks/state/share.h"

namespace gcoord::locks {
namespace {

// Forgets a lock that nobody holds any more, with its queue.
void drop_lock(const LockTables& tables, LockRow row) {
  LockRecord& lock = tables.locks[row];
  *tables.waiter_count -= lock.waiter_count;
  lock.waiter_count = 0;
  remove_lock(tables, row);
}

// Gives back one session with all that hangs on it; queues of the shard are going as a whole.
void drop_session(const LockTables& tables, SessionRow session_row) {
  SessionRecord& session = tables.sessions[session_row];
  for (LockRow row = session.hold_first; row.value != 0; row = session.hold_first) {
    if (is_broken(tables.locks[row])) {
      drop_broken(tables, row);
      continue;
    }
    if (!is_share(tables.locks[row])) {
      unlink_holder(tables, row);
      drop_lock(tables, row);
      continue;
    }
    const LockRow head = head_of(tables.locks[row]);
    drop_share(tables, row);
    if (tables.locks[head].holder.value == 0) {
      drop_lock(tables, head);
    }
  }
  for (LockRow row = delayed_first(session); row.value != 0; row = delayed_first(session)) {
    unlink_delayed(tables, row);
    drop_lock(tables, row);
  }
  for (RequestRow row = session.request_oldest; row.value != 0; row = session.request_oldest) {
    if (tables.requests[row].code == LockCode::Waiting) {
      release_kept(tables, tables.requests[row]);
    }
    unlink_request(tables, row);
    tables.requests.give_back(row);
  }
  remove_session(tables, session_row);
}

}  // namespace

void drop_shard(const LockTables& tables, ShardId shard_id) {
  LockShardRow& shard = tables.shard(shard_id);
  for (SessionRow row = shard.session_first; row.value != 0; row = shard.session_first) {
    drop_session(tables, row);
  }
  GCOORD_ASSERT(shard.lock_count == 0);
  shard = LockShardRow{};
}

}  // namespace gcoord::locks
