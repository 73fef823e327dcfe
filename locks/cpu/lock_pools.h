// Memory of one node's lock tables: a row per shard, the pools of records, and the indexes.
//
// Pools grow by doubling, in place and without a pause, before a command that may need a row.
// Host only; one thread.
#pragma once

#include "common/tables/column_arena.h"
#include "common/tables/growing_index.h"
#include "common/tables/growing_pool.h"
#include "locks/state/demand.h"
#include "locks/state/table.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::locks {

// What exists on the node, of all shards.
struct LockUsage {
  std::uint64_t locks = 0;
  std::uint64_t waiters = 0;
  std::uint64_t sessions = 0;
  std::uint64_t requests = 0;  // Waiters and kept replies.
  std::uint64_t name_blocks = 0;
  std::uint64_t memory_bytes = 0;  // Of all columns and indexes, used or not.
};

class LockPools {
 public:
  // As in LockTables.
  struct Options {
    std::uint32_t shard_count = 1;
    std::uint64_t index_seed = 0;
    bool group_answers_apart = false;
  };

  explicit LockPools(const Options& options);
  LockPools(const LockPools&) = delete;
  LockPools& operator=(const LockPools&) = delete;

  // Grows the pools so that commands of this demand find their rows. True when there are more rows
  // of sessions than before.
  bool reserve(const LockDemand& demand);

  const LockTables& tables() const { return tables_; }

  // A bit per shard, for the owner of the shards' leadership.
  std::uint64_t* shard_bits() { return shard_bits_; }

  // The last row that may hold a lock.
  LockRow lock_row_last() const { return LockRow{locks_.window.fresh}; }

  std::uint64_t waiter_count() const { return waiter_count_; }

  LockUsage usage() const;

 private:
  ColumnArena shard_columns_;
  std::uint64_t* shard_bits_ = nullptr;
  GrowingPool<LockRecord, LockRow> locks_;
  GrowingPool<SessionRecord, SessionRow> sessions_;
  GrowingPool<RequestRecord, RequestRow> requests_;
  GrowingPool<NameBlock, NameBlockRow> names_;
  GrowingIndex lock_index_;
  GrowingIndex session_index_;
  std::uint64_t waiter_count_ = 0;
  LockTables tables_;
};

}  // namespace gcoord::locks
