#include "locks/cpu/move_settle.h"

#include "common/assert.h"
#include "locks/state/delay.h"
#include "locks/state/move.h"

namespace gcoord::locks {
namespace {

// Everybody who waits is told where the lock is; nobody has it then.
void free_lock(const LockTables& tables, ShardId shard, const MoveFix& fix) {
  LockEvents uncounted;
  LockRow row = find_lock(tables, shard, fix.name_hash);
  while (tables.locks[row].queue_first.value != 0) {
    end_wait(tables,
             tables.locks[row].queue_first,
             LockCode::Moved,
             FencingToken{fix.to.value},
             uncounted);
  }
  if (is_delayed(tables, tables.locks[row])) {
    const SessionRow failed = tables.locks[row].holder;
    unlink_delayed(tables, row);
    clear_hold(tables, row);
    leave_free(tables, row);
    if (tables.sessions[failed].hold_count == 0) {
      remove_session(tables, failed);
    }
    return;
  }
  for (std::uint32_t i = 0; i < kHoldersMax; ++i) {
    row = find_held(tables, shard, fix.name_hash);
    if (row.value == 0) {
      return;
    }
    const LockRecord& lock = tables.locks[row];
    const LockRow share = is_marked(lock) ? load_extra(tables, lock).share_first : LockRow{};
    pass_on(tables, share.value != 0 ? share : row, LogIndex{}, uncounted);
  }
  GCOORD_ASSERT(find_held(tables, shard, fix.name_hash).value == 0);
}

// The record that stands while nobody holds the lock here.
void keep_record(const LockTables& tables, ShardId shard, const MoveFix& fix) {
  ensure_keeper(tables, shard);
  LockRow row = find_lock(tables, shard, fix.name_hash);
  if (row.value == 0) {
    row = create_lock(
        tables,
        shard,
        LockName{fix.name_hash, fix.name.data(), static_cast<std::uint32_t>(fix.name.size())},
        tables.lock_hash(shard, fix.name_hash));
    mark(tables, row);
  } else {
    release_export(tables, load_extra(tables, tables.locks[row]).export_first);
    take_from_keeper(tables, row);
  }
  LockExtra extra;
  extra.name_first = load_extra(tables, tables.locks[row]).name_first;
  extra.residence = fix.kind == MoveFix::Kind::Away ? Residence::Away : Residence::Here;
  extra.move_number = fix.number;
  extra.away_to = fix.kind == MoveFix::Kind::Away ? fix.to : ShardId{};
  store_extra(tables, tables.locks[row], extra);
  give_to_keeper(tables, row);
}

void strip(const LockTables& tables, LockRow row) {
  LockExtra extra = load_extra(tables, tables.locks[row]);
  release_export(tables, extra.export_first);
  extra.export_first = NameBlockRow{};
  store_extra(tables, tables.locks[row], extra);
}

}  // namespace

LockDemand demand_of(const MoveFix& fix) {
  LockDemand demand;
  demand.locks = demand.sessions = 1;
  demand.name_blocks = 1 + name_block_count(static_cast<std::uint32_t>(fix.name.size()));
  return demand;
}

void settle_move(const LockTables& tables, ShardId shard, const MoveFix& fix) {
  const LockRow row = find_lock(tables, shard, fix.name_hash);
  const bool held = row.value != 0 && !is_kept(tables, tables.locks[row]);
  if (fix.kind == MoveFix::Kind::Strip) {
    GCOORD_ASSERT(row.value != 0 && !held);
    strip(tables, row);
  } else if (fix.kind == MoveFix::Kind::Here && held) {
    mark(tables, row);
    LockExtra extra = load_extra(tables, tables.locks[row]);
    extra.residence = Residence::Here;
    extra.move_number = fix.number;
    store_extra(tables, tables.locks[row], extra);
    ensure_keeper(tables, shard);
  } else {
    if (held) {
      free_lock(tables, shard, fix);
    }
    keep_record(tables, shard, fix);
  }
}

}  // namespace gcoord::locks
