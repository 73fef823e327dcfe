// Answers to the reads and proposals of rows, as their steps decide.
//
// A read is answered at once under a lease that it trusts, else by a read round, of which one is
// open per row at a time. A proposal that is not decided ends here with its reason; one that is
// decided is applied (apply_queue.h). One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "consensus/step/inbox.h"
#include "consensus/step/outbox.h"
#include "server/interfaces/state_machine.h"
#include "server/replicas/active.h"
#include "server/replicas/metrics.h"
#include "server/replicas/replica_rows.h"

#include <cstdint>
#include <vector>

namespace gcoord::server {

class RowAnswers {
 public:
  // All outlive it.
  struct Environment {
    ReplicaRows& rows;
    StateMachine& service;
    ReplicaMetrics& metrics;
    TurnState& turn;
    NodeId self;
  };

  explicit RowAnswers(const Environment& environment) : env_(environment) {}

  // Answers what arrived before this turn, or asks for a round by the row's inbox.
  void serve_reads(RowWork& work, consensus::Inbox& in, const consensus::StepInput& input);

  // After the row's step.
  void settle_read(std::uint32_t row, const consensus::Outbox& out);

  // The row's state is that of `applied` now.
  void on_applied(RowWork& work, LogIndex applied);

  void fail_proposal(std::uint32_t row, std::uint64_t cookie, consensus::ProposalVerdict verdict);

  // Ends the proposals of a leadership that the row's step ended.
  void on_leadership_ended(std::uint32_t row, const RowBefore& before);

 private:
  void answer_reads(const std::vector<std::uint64_t>& cookies);
  void fail_reads(std::uint32_t row, const std::vector<std::uint64_t>& cookies, const Status& why);

  Environment env_;
  std::uint64_t read_sequence_ = 0;
};

}  // namespace gcoord::server
