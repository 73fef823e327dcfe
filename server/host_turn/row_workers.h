// The work on the rows of a lane, wired together: answers, reports, storage, messages, applied
// entries, and the batch and the settler that use them.
#pragma once

#include "server/host_turn/apply_queue.h"
#include "server/host_turn/lane.h"
#include "server/host_turn/outbox_drain.h"
#include "server/host_turn/row_answers.h"
#include "server/host_turn/row_batch.h"
#include "server/host_turn/row_messages.h"
#include "server/host_turn/row_reports.h"
#include "server/host_turn/row_storage.h"
#include "server/host_turn/settler.h"

namespace gcoord::server {

// Each member refers to those above it, and all to parts of the lane, which outlives it.
struct TurnLane::Workers {
  Workers(TurnLane& lane, const Connections& to)
      : answers({lane.rows, lane.calls, lane.env_.metrics, lane.turn_, lane.env_.options.node}),
        reports({lane.rows, lane.calls, lane.env_.metrics, lane.env_.options.node, lane.turn_}),
        storage({lane.rows, lane.calls, lane.env_.metrics, lane.turn_, lane.record, to.marks}),
        messages({lane.rows,
                  lane.calls,
                  lane.env_.metrics,
                  lane.outflow,
                  to.sender,
                  to.network,
                  to.peers}),
        applies(
            {lane.rows, lane.calls, lane.env_.metrics, lane.turn_, to.peers, to.marks, answers}),
        drain({lane.rows, reports, storage, messages, applies, lane.readmission, lane.members}),
        batch({lane.rows, answers, storage, applies, drain, lane.failure_}),
        settler({lane.rows,
                 lane.env_.metrics,
                 lane.turn_,
                 storage,
                 drain,
                 [&lane] { lane.look_at_credit(); },
                 [&lane] { return lane.took_us() >= lane.step_limit_us() / 2; }}) {}

  RowAnswers answers;
  RowReports reports;
  RowStorage storage;
  RowMessages messages;
  ApplyQueue applies;
  OutboxDrain drain;
  RowBatch batch;
  Settler settler;
};

}  // namespace gcoord::server
