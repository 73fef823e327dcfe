#include "ledger/history/history_metrics.h"

namespace gcoord::ledger {

HistoryMetrics::HistoryMetrics(MetricsRegistry& registry)
    : hashed_(registry.counter(
          {"gcoord_ledger_history_entries_total", "Entries hashed into shards' trees.", "", ""})),
      pruned_(registry.counter(
          {"gcoord_ledger_history_pruned_total", "Entries pruned from history.", "", ""})),
      disk_bytes_(registry.gauge(
          {"gcoord_ledger_history_disk_bytes", "Disk space of the history store.", "", ""})),
      pending_bytes_(registry.gauge({"gcoord_ledger_history_pending_bytes",
                                     "History in memory that is not in the store yet.",
                                     "",
                                     ""})),
      lag_(registry.gauge(
          {"gcoord_ledger_history_lag_entries", "Entries applied and not hashed yet.", "", ""})) {}

void HistoryMetrics::update(const History& history, std::uint64_t lag_entries) {
  const HistoryCounts now = history.counts();
  hashed_.add(now.hashed - counted_.hashed);
  pruned_.add(now.pruned - counted_.pruned);
  disk_bytes_.set(static_cast<std::int64_t>(history.disk_bytes()));
  pending_bytes_.set(static_cast<std::int64_t>(history.pending_bytes()));
  lag_.set(static_cast<std::int64_t>(lag_entries));
  counted_ = now;
}

}  // namespace gcoord::ledger
