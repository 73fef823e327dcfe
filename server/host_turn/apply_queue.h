// The decided entries of a turn on their way to the service, range by range.
//
// A range is of one row, which is told at once that it was applied (settle.h), or by its
// next step where rows lie on a device. A configuration ends its range: a step takes it, and the
// rest comes with that step. One thread.
#pragma once

#include "common/ids.h"
#include "server/host_turn/row_answers.h"
#include "server/interfaces/state_machine.h"
#include "server/peers/peers.h"
#include "server/replicas/checkpoint_marks.h"
#include "server/replicas/metrics.h"
#include "server/replicas/replica_rows.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::server {

class ApplyQueue {
 public:
  // All outlive it.
  struct Environment {
    ReplicaRows& rows;
    StateMachine& service;
    ReplicaMetrics& metrics;
    TurnState& turn;
    const ReplicaPeers& peers;
    CheckpointMarks& marks;
    RowAnswers& answers;
  };

  explicit ApplyQueue(const Environment& environment) : env_(environment) {}

  void add(std::uint32_t row, LogIndex first, LogIndex last) {
    queue_.push_back({row, first, last});
  }

  // A snapshot holds what was to be applied to the row.
  void drop(std::uint32_t row) {
    std::erase_if(queue_, [row](const Range& range) { return range.row == row; });
  }

  void apply_all();

  void shrink() { queue_.shrink_to_fit(); }

 private:
  struct Range {
    std::uint32_t row = 0;
    LogIndex first;
    LogIndex last;
  };

  void want_entries(std::size_t at) const;
  LogIndex apply_range(const Range& range);
  void after_apply(std::uint32_t row, LogIndex applied);
  void settle_at_once(std::uint32_t row, LogIndex applied);

  Environment env_;
  std::vector<Range> queue_;
};

}  // namespace gcoord::server
