// Reports of a row's changes in a step: leaderships to the service, transitions to the trace,
// counts to the metrics, elections to the node's log. One thread.
#pragma once

#include "consensus/step/outbox.h"
#include "server/host_turn/lane_calls.h"
#include "server/replicas/metrics.h"
#include "server/replicas/replica_rows.h"
#include "server/turn_lines/role_changes.h"

#include <cstdint>

namespace gcoord::server {

class RowReports {
 public:
  // All outlive it.
  struct Environment {
    ReplicaRows& rows;
    LaneCalls& calls;
    ReplicaMetrics& metrics;
    NodeId self;
    TurnState& turn;
  };

  explicit RowReports(const Environment& environment)
      : env_(environment), roles_(environment.self) {}

  void announce(std::uint32_t row, const RowBefore& before, consensus::Cause cause);

  // Messages to the row that a step took for implausible.
  void on_dropped(std::uint32_t count) {
    env_.metrics.dropped(ReplicaDrop::Implausible).add(count);
  }

  // At the end of a turn: what it changed, to the node's log.
  void tell() { roles_.tell(); }

  // Shards that this node leads.
  std::uint32_t leader_count() const { return leader_count_; }

 private:
  Environment env_;
  RoleChanges roles_;
  std::uint32_t leader_count_ = 0;
};

}  // namespace gcoord::server
