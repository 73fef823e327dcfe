// Writers of one set of lock tables, side by side.
//
// Each has shards of its own and works through its commands in log order with apply() (apply.h),
// as a node's one thread does. The tables' pools and indexes are shared. A writer claims windows of
// the free rows that cover what its commands may take (demand.h), and gives back what is left of
// them: rows that anybody gave back come to another writer only once the owner of the tables has
// moved its bound (server/resident/node/lock_turn_service.h: at the begin of a turn). So a row
// never has two writers at a time, and nobody waits for anybody. Host and device; POD.
#pragma once

#include "common/assert.h"
#include "common/device/device_atomic.h"
#include "common/hd.h"
#include "common/tables/hash_index.h"
#include "common/tables/row_pool.h"
#include "locks/state/demand.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

// The free rows of a pool stand at positions from `claimed` up to `returned` of its ring.
struct PoolTops {
  std::uint32_t claimed = 0;
  std::uint32_t returned = 0;

  GCOORD_HD std::uint32_t available() const { return returned - claimed; }
};

struct LockPoolTops {
  PoolTops locks;
  PoolTops sessions;
  PoolTops requests;
  PoolTops name_blocks;
  std::uint64_t waiter_count = 0;
};

// What writers share. `tables` is without windows: each writer brings its own.
struct SharedLocks {
  LockTables tables;
  LockPoolTops* tops = nullptr;
};

// What one writer owns while it applies commands.
struct LockWriter {
  RowWindow locks;
  RowWindow sessions;
  RowWindow requests;
  RowWindow name_blocks;
  IndexSpare lock_spare;
  std::uint64_t waiter_count = 0;  // Change of the number of waiters; wraps.
};

// The tables as one writer sees them. `writer` outlives them.
GCOORD_HD inline LockTables tables_of(const SharedLocks& shared, LockWriter& writer) {
  LockTables tables = shared.tables;
  tables.locks.window = &writer.locks;
  tables.sessions.window = &writer.sessions;
  tables.requests.window = &writer.requests;
  tables.name_blocks.window = &writer.name_blocks;
  tables.lock_index.current.spare = &writer.lock_spare;
  tables.waiter_count = &writer.waiter_count;
  return tables;
}

GCOORD_HD inline RowWindow claim_rows(PoolTops& tops, std::uint32_t count) {
  const std::uint32_t first = count == 0 ? 0 : relaxed_add(tops.claimed, count);
  return {.first = first, .next = first, .last = first + count};
}

// Gives a row back past the writer's window. Any number of threads may at once.
template <typename Pool, typename Row>
GCOORD_HD inline void give_to_ring(const Pool& pool, Row row) {
  GCOORD_ASSERT(row.value != 0);
  GCOORD_ASSERT(pool.returned != nullptr);
  pool.free_rows[relaxed_add(*pool.returned, 1) & pool.position_mask] = row.value;
}

// The row that the k-th take after k others would give, its record as it was left. With
// take_ahead(), for the members of a group that each fill some of the next rows.
template <typename Record, typename Row>
GCOORD_HD inline Row row_ahead(const RowPool<Record, Row>& pool, std::uint32_t k) {
  GCOORD_ASSERT(k < pool.available());
  const std::uint32_t row = pool.row_at(pool.window->next + k);
  GCOORD_ASSERT(row <= pool.capacity);
  return Row{row};
}

// Takes `count` rows, which row_ahead() told before.
template <typename Pool>
GCOORD_HD inline void take_ahead(const Pool& pool, std::uint32_t count) {
  RowWindow& own = *pool.window;
  GCOORD_ASSERT(count <= pool.available());
  own.next += count;
  own.fresh = own.next > own.fresh ? own.next : own.fresh;
}

// For an owner who knows that so many are free.
GCOORD_HD inline void claim_windows(const SharedLocks& shared,
                                    const LockDemand& demand,
                                    LockWriter& writer) {
  writer.locks = claim_rows(shared.tops->locks, demand.locks);
  writer.sessions = claim_rows(shared.tops->sessions, demand.sessions);
  writer.requests = claim_rows(shared.tops->requests, demand.requests);
  writer.name_blocks = claim_rows(shared.tops->name_blocks, demand.name_blocks);
}

// Rows that a writer claimed and did not take go to the end of the ring.
template <typename Pool>
GCOORD_HD inline void return_rows(const Pool& pool, const RowWindow& window, PoolTops& tops) {
  const std::uint32_t count = window.last - window.next;
  if (count == 0) {
    return;
  }
  const std::uint32_t to = relaxed_add(tops.returned, count);
  // Several at a time, so that their loads are under way together.
  constexpr std::uint32_t kTogether = 8;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t base = 0; base < count; base += kTogether) {
    std::uint32_t rows[kTogether];
    GCOORD_UNROLL
    for (std::uint32_t j = 0; j < kTogether; ++j) {
      const std::uint32_t i = base + j;
      rows[j] = i < count ? pool.row_at(window.next + i) : 0;
    }
    GCOORD_UNROLL
    for (std::uint32_t j = 0; j < kTogether; ++j) {
      const std::uint32_t i = base + j;
      if (i < count) {
        pool.free_rows[(to + i) & pool.position_mask] = rows[j];
      }
    }
  }
}

// The writer has applied its commands.
GCOORD_HD inline void end_writer(const SharedLocks& shared,
                                 const LockTables& tables,
                                 const LockWriter& writer) {
  tables.lock_index.current.release_spare();
  if (writer.waiter_count != 0) {
    relaxed_add(shared.tops->waiter_count, writer.waiter_count);
  }
  return_rows(tables.locks, writer.locks, shared.tops->locks);
  return_rows(tables.sessions, writer.sessions, shared.tops->sessions);
  return_rows(tables.requests, writer.requests, shared.tops->requests);
  return_rows(tables.name_blocks, writer.name_blocks, shared.tops->name_blocks);
}

}  // namespace gcoord::locks
