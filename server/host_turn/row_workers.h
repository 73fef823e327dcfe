// The work on the rows of the turn on the host, wired together: answers, reports, storage,
// messages, applied entries, and the batch that uses them.
#pragma once

#include "server/host_turn/apply_queue.h"
#include "server/host_turn/host_replicas.h"
#include "server/host_turn/row_answers.h"
#include "server/host_turn/row_batch.h"
#include "server/host_turn/row_messages.h"
#include "server/host_turn/row_reports.h"
#include "server/host_turn/row_storage.h"
#include "server/host_turn/settler.h"
#include "server/turn_lines/snapshot_counts.h"

#include <functional>

namespace gcoord::server {

// Each member refers to those above it, and all to parts of the host, which outlives it.
struct HostReplicas::RowWorkers {
  explicit RowWorkers(HostReplicas& host);

  // Brings the peers' records up to what their channels take now.
  std::function<void()> look_at_credit;
  RowAnswers answers;
  RowReports reports;
  RowStorage storage;
  RowMessages messages;
  ApplyQueue applies;
  RowBatch batch;
  Settler settler;
  SnapshotCounts snapshots;
};

}  // namespace gcoord::server
