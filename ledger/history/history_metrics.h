// Metrics of a history: entries hashed and pruned, disk space, and what is not written or hashed
// yet (gcoord_ledger_history_*). By one thread.
#pragma once

#include "common/host/metrics.h"
#include "ledger/history/history.h"

#include <cstdint>

namespace gcoord::ledger {

class HistoryMetrics {
 public:
  explicit HistoryMetrics(MetricsRegistry& registry);

  // Brings them up to date. lag_entries: handed over and not hashed yet.
  void update(const History& history, std::uint64_t lag_entries);

 private:
  Counter& hashed_;
  Counter& pruned_;
  Gauge& disk_bytes_;
  Gauge& pending_bytes_;
  Gauge& lag_;
  HistoryCounts counted_;  // As of the last update.
};

}  // namespace gcoord::ledger
