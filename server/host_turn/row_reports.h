// Reports of a row's changes in a step: leaderships to the service, transitions to the trace,
// counts to the metrics. One thread.
#pragma once

#include "consensus/step/outbox.h"
#include "server/interfaces/state_machine.h"
#include "server/replicas/metrics.h"
#include "server/replicas/options.h"
#include "server/replicas/replica_rows.h"

#include <cstdint>

namespace gcoord::server {

class RowReports {
 public:
  // All outlive it.
  struct Environment {
    ReplicaRows& rows;
    StateMachine& service;
    ReplicaMetrics& metrics;
    const ReplicaOptions& options;
    TurnState& turn;
  };

  explicit RowReports(const Environment& environment) : env_(environment) {}

  void announce(std::uint32_t row, const RowBefore& before, consensus::Cause cause);

  // Messages to the row that a step took for implausible.
  void on_dropped(std::uint32_t count) {
    env_.metrics.dropped(ReplicaDrop::Implausible).add(count);
  }

  // Shards that this node leads.
  std::uint32_t leader_count() const { return leader_count_; }

 private:
  Environment env_;
  std::uint32_t leader_count_ = 0;
};

}  // namespace gcoord::server
