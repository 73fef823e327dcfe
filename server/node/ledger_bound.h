// The bound of a node's ledger as a whole, and the alarm of one that has none.
//
// A data directory that this release made is bounded: a tenth of its file system, at least 1 GiB,
// unless --ledger-bytes-max says otherwise. One of a release before keeps everything, since nobody
// agreed to lose any of it; then the operator is told at the start and once a day how fast it
// grows.
#pragma once

#include "common/host/metrics.h"
#include "ledger/history/worker.h"
#include "server/interfaces/replica_view.h"
#include "server/options/options.h"

#include <cstdint>

namespace gcoord::server {

// Bytes of the entries of all shards; 0: no bound. disk_bytes: the size of the file system.
std::uint64_t ledger_bytes_max(const NodeOptions& options,
                               bool directory_is_bounded,
                               std::uint64_t disk_bytes);

// One thread, the node's loop.
class LedgerGrowth {
 public:
  explicit LedgerGrowth(MetricsRegistry& metrics);

  // Once, when the ledger is open. `alarm`: nothing bounds it and nobody has asked for that.
  void start(bool alarm, std::uint64_t now_ms);

  // About once a second; now_ms only grows.
  void look(const ledger::History& history, std::uint64_t now_ms);

 private:
  Gauge& unbounded_;
  Gauge& per_day_;
  bool alarm_ = false;
  std::uint64_t started_ms_ = 0;
  std::uint64_t told_ms_ = 0;  // When the operator was last told of growth.
};

}  // namespace gcoord::server
