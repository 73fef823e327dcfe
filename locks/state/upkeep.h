// Upkeep of device tables between batches: larger rings of free rows, new indexes.
//
// Each function is one thread's share of a loop over all positions or rows, a kernel of its own.
// Host and device.
#pragma once

#include "common/hd.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

// A ring of free rows on its way to a pool with more rows: those that were free keep their order,
// and the new rows follow.
struct RingMove {
  const std::uint32_t* old_rows = nullptr;
  std::uint32_t old_mask = ~0u;
  std::uint32_t old_first = 0;  // Position of the first free row.
  std::uint32_t free_count = 0;
  std::uint32_t old_capacity = 0;
  std::uint32_t* rows = nullptr;
  std::uint32_t row_count = 0;  // Free rows in the end: positions 0 up to it.
};

// Position k of the larger ring. A position of the old one that was never written stands for the
// row after it, as in RowPool.
GCOORD_HD inline void move_ring(const RingMove& move, std::uint32_t k) {
  if (k >= move.free_count) {
    move.rows[k] = move.old_capacity + 1 + (k - move.free_count);
    return;
  }
  const std::uint32_t position = move.old_first + k;
  const std::uint32_t row = move.old_rows[position & move.old_mask];
  move.rows[k] = row != 0 ? row : position + 1;
}

// Enters a row into an empty index, if a lock stands in it.
GCOORD_HD inline void index_lock(const LockTables& tables, LockRow row) {
  const LockRecord& lock = tables.locks[row];
  if (lock.holder.value != 0) {
    tables.lock_index.insert(tables.lock_hash(lock.shard, lock.name_hash), row.value);
  }
}

// The same for a registration.
GCOORD_HD inline void index_session(const LockTables& tables, SessionRow row) {
  const SessionRecord& session = tables.sessions[row];
  if (session.session.value != 0) {
    tables.session_index.insert(tables.session_hash(session.shard, session.session), row.value);
  }
}

}  // namespace gcoord::locks
