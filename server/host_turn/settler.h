// Rows that are told one thing without a step: that storage finished, or how far their log is
// decided (consensus/step/settle.h).
//
// Of a node whose commands are each of another shard, that is half of all that rows are told. It is
// tried before the turn's steps, for rows that nothing else waits for; the others get it with their
// step, as all rows do where they lie on a device. One thread.
#pragma once

#include "consensus/step/inbox.h"
#include "consensus/step/outbox.h"
#include "server/host_turn/apply_queue.h"
#include "server/host_turn/inflow.h"
#include "server/host_turn/row_messages.h"
#include "server/host_turn/row_reports.h"
#include "server/replicas/metrics.h"
#include "server/replicas/replica_rows.h"
#include "server/replicas/turn_record.h"

#include <cstdint>
#include <functional>
#include <utility>

namespace gcoord::server {

class Settler {
 public:
  // All outlive it. look_at_credit: brings the peers' records up to what they take now.
  struct Environment {
    ReplicaRows& rows;
    ReplicaMetrics& metrics;
    TurnState& turn;
    RowReports& reports;
    RowMessages& messages;
    ApplyQueue& applies;
    std::function<void()> look_at_credit;
  };

  explicit Settler(Environment environment) : env_(std::move(environment)) {}

  // The input of the turn's steps, by which rows are told from now on.
  void begin(const consensus::StepInput& input);

  // Storage finished the request of a row.
  void on_stored(const TurnRecord::Ack& ack);
  // A peer says how far a row's log is decided. Without entries; one of the messages that
  // ReplicaInflow lets by.
  void on_notice(const ReceivedNotice& notice);

 private:
  bool settle(std::uint32_t row);

  Environment env_;
  consensus::StepInput input_;
  std::uint32_t settled_ = 0;  // Since the peers' credit was looked at.
  consensus::Inbox in_;
  consensus::Outbox out_;
};

}  // namespace gcoord::server
