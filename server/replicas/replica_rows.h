// The replicas of a node as the turn on the host steps them: their columns, their entries, the work
// that waits for them and when they are due.
//
// A row is one shard's replica (consensus/step/shard_table.h); which shard's says the map. One
// thread.
#pragma once

#include "common/assert.h"
#include "common/ids.h"
#include "consensus/step/row_map.h"
#include "consensus/step/shard_table.h"
#include "consensus/step/stepper.h"
#include "server/platform/device_choice.h"
#include "server/replicas/active.h"
#include "server/replicas/deadlines.h"
#include "server/replicas/entry_log.h"
#include "server/replicas/entry_pool.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

struct ReplicaRows {
  // The stepper has as many rows as the map, which is that of one of so many lanes of the node.
  ReplicaRows(ChosenStepper chosen, const consensus::RowMap& row_map, std::uint32_t parts)
      : map(row_map),
        stepper(std::move(chosen.stepper)),
        stepper_why(std::move(chosen.why)),
        log(pool, map.row_count()),
        active(map.row_count(), parts),
        deadlines(map.row_count()),
        leaderless(map.row_count()),
        is_stalled_(map.row_count(), false) {
    stepper->name_rows(map);
  }

  ReplicaRows(const ReplicaRows&) = delete;
  ReplicaRows& operator=(const ReplicaRows&) = delete;

  const consensus::ShardColumns& columns() const { return stepper->columns(); }

  consensus::ShardRef ref(std::uint32_t row) const { return {stepper->columns(), row}; }

  ShardId shard_of(std::uint32_t row) const { return map.shard_of(row); }

  // The row of a shard that is here.
  std::uint32_t row_of(ShardId shard) const {
    const std::uint32_t row = map.row_of(shard);
    GCOORD_ASSERT(row != consensus::kNoRow);
    return row;
  }

  // Every row is to be stepped, in parts: wake() takes the next row_count_max of them.
  void wake_all() { wake_left_ = map.row_count(); }

  bool waking() const { return wake_left_ > 0; }

  void wake(std::uint32_t row_count_max) {
    const std::uint32_t count = std::min(wake_left_, row_count_max);
    for (std::uint32_t k = 0; k < count; ++k) {
      active.touch(wake_row_).woken = 1;
      wake_row_ = (wake_row_ + 1) % map.row_count();
    }
    wake_left_ -= count;
  }

  // Rows that have messages to send and found no credit wait apart until retry(): a row without
  // credit asks for a step in every turn.
  void stall(std::uint32_t row) {
    if (!is_stalled_[row]) {
      is_stalled_[row] = true;
      stalled_.push_back(row);
    }
  }

  std::size_t stalled_count() const { return stalled_.size(); }

  // The first row_count_max of them: what has come back is not enough for all.
  void retry(std::uint32_t row_count_max) {
    for (std::uint32_t k = 0; k < row_count_max && !stalled_.empty(); ++k) {
      is_stalled_[stalled_.front()] = false;
      active.touch(stalled_.front());
      stalled_.pop_front();
    }
  }

  // Gives back what a burst of stalled rows made grow.
  void shrink() { stalled_.shrink_to_fit(); }

  const consensus::RowMap map;
  std::unique_ptr<consensus::Stepper> stepper;
  std::string stepper_why;  // Why it is this one.
  EntryPool pool;
  EntryLog log;
  ActiveRows active;
  DeadlineIndex deadlines;
  std::uint32_t leaderless;     // Rows that know no leader.
  std::uint32_t campaigns = 0;  // Rows that campaign now.

 private:
  std::uint32_t wake_row_ = 0;
  std::uint32_t wake_left_ = 0;
  std::deque<std::uint32_t> stalled_;
  std::vector<bool> is_stalled_;  // By row.
};

// The turn under way or, between turns, the last one.
struct TurnState {
  std::uint64_t number = 0;
  Tick tick;
  Tick gap_told;            // When a standstill of the loop was told last; it may be after `tick`.
  bool tick_began = false;  // With this turn.
  bool lives_end = false;   // As StepInput::lives_end.
  std::size_t done = 0;     // The result of the turn so far.
};

// A row before its step.
struct RowBefore {
  consensus::Hot hot;
  consensus::Log log;
};

}  // namespace gcoord::server
