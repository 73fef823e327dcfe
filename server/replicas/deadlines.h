// Index of the rows that are due: a lower bound of the deadlines of each block of rows.
//
// A step can only bring a bound down, so bounds may be too early, never too late; a block whose
// bound is due is scanned and gets the exact one. An idle million of shards is a thousand bounds,
// all "never". One thread.
#pragma once

#include "common/assert.h"
#include "common/ids.h"
#include "consensus/step/shard_table.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gcoord::server {

class DeadlineIndex {
 public:
  // 16 KiB of Hot per block: a scan stays in the first-level cache.
  static constexpr std::uint32_t kBlockRows = 512;

  explicit DeadlineIndex(std::uint32_t row_count)
      : bounds_((row_count + kBlockRows - 1) / kBlockRows, kTickNever) {}

  // After a step of the row.
  void lower(std::uint32_t row, Tick deadline) {
    Tick& bound = bounds_[row / kBlockRows];
    bound = min_id(bound, deadline);
    next_ = min_id(next_, deadline);
  }

  // No row is due before this tick.
  Tick next() const { return next_; }

  // Where the first collect() begins: after `part` of `parts` of the rows. Nodes that begin in
  // different places do not come to the same shards at the same time.
  void begin_at(std::size_t part, std::size_t parts) {
    GCOORD_ASSERT(part < parts);
    first_block_ = static_cast<std::uint32_t>(bounds_.size() * part / parts);
  }

  // Calls on_due(row) for rows whose deadline is at most `tick`: for all of them, or for about
  // row_count_max and next() stays due. True: the caller steps the row and tells its deadline by
  // lower(). False: it leaves the row for later, and next() stays due. Blocks take turns in being
  // first.
  template <typename OnDue>
  void collect(const consensus::ShardColumns& columns,
               Tick tick,
               std::uint32_t row_count_max,
               OnDue&& on_due) {
    if (next_ > tick) {
      return;
    }
    next_ = kTickNever;
    std::uint32_t row_count = 0;
    const auto block_count = static_cast<std::uint32_t>(bounds_.size());
    const std::uint32_t start = first_block_;
    for (std::uint32_t k = 0; k < block_count; ++k) {
      const std::uint32_t block = (start + k) % block_count;
      if (bounds_[block] <= tick && row_count < row_count_max) {
        bounds_[block] = scan(columns, block, tick, row_count, on_due);
        first_block_ = (block + 1) % block_count;
      }
      next_ = min_id(next_, bounds_[block]);
    }
  }

 private:
  // The exact bound of the block's rows that are not due; counts the others.
  template <typename OnDue>
  static Tick scan(const consensus::ShardColumns& columns,
                   std::uint32_t block,
                   Tick tick,
                   std::uint32_t& row_count,
                   OnDue& on_due) {
    Tick bound = kTickNever;
    const std::uint32_t first = block * kBlockRows;
    const std::uint32_t end = std::min(first + kBlockRows, columns.row_count);
    for (std::uint32_t row = first; row < end; ++row) {
      const Tick deadline = columns.hot[row].deadline;
      const bool due = deadline <= tick;
      row_count += due ? 1 : 0;
      if (!due || !on_due(row)) {
        bound = min_id(bound, deadline);
      }
    }
    return bound;
  }

  std::uint32_t first_block_ = 0;
  std::vector<Tick> bounds_;
  Tick next_ = kTickNever;
};

}  // namespace gcoord::server
