// Rows that are told one thing without a step: that storage finished, or what a peer sends in the
// middle of a term (consensus/step/settle.h).
//
// Of a node whose commands are each of another shard, that is nearly all that rows are told. It is
// tried before the turn's steps, for rows that nothing else waits for; the others get it with their
// step, as all rows do where they lie on a device. One thread.
#pragma once

#include "consensus/step/inbox.h"
#include "consensus/step/outbox.h"
#include "server/host_turn/arrivals.h"
#include "server/host_turn/outbox_drain.h"
#include "server/host_turn/row_storage.h"
#include "server/replicas/metrics.h"
#include "server/replicas/replica_rows.h"
#include "server/replicas/turn_record.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

namespace gcoord::server {

class Settler {
 public:
  // All outlive it.
  struct Environment {
    ReplicaRows& rows;
    ReplicaMetrics& metrics;
    TurnState& turn;
    RowStorage& storage;
    OutboxDrain& drain;
    std::function<void()> look_at_credit;  // Brings the peers' records up to what they take now.
    std::function<bool()> out_of_time;     // Whether the rest has to wait for the next turn.
  };

  explicit Settler(Environment environment) : env_(std::move(environment)) {}

  // The input of the turn's steps, by which rows are told from now on.
  void begin(const consensus::StepInput& input);

  // Storage finished the request of a row.
  void on_stored(const TurnRecord::Ack& ack);
  // Takes messages of peers, in order, while there is time. One that is not settled, or not the
  // only one of its row, waits for the step of its row.
  void take(Arrivals& arrivals);

 private:
  void on_arrival(const Arrivals& arrivals, std::size_t k);
  bool settle(std::uint32_t row, std::span<const std::byte> extent);

  Environment env_;
  consensus::StepInput input_;
  std::uint32_t settled_ = 0;  // Since begin().
  consensus::Inbox in_;
  consensus::Outbox out_;
};

}  // namespace gcoord::server
