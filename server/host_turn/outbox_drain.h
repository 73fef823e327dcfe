// The outbox of a row, drained: storage requests, messages and decided entries, then reports and
// deadlines. A step and a settled input (settler.h) share it.
//
// The order is that of consensus/step/outbox.h. The caller has stored entries and snapshots before,
// because it has the message that they came with. One thread.
#pragma once

#include "consensus/step/outbox.h"
#include "server/host_turn/apply_queue.h"
#include "server/host_turn/row_messages.h"
#include "server/host_turn/row_reports.h"
#include "server/host_turn/row_storage.h"
#include "server/peers/members_mover.h"
#include "server/peers/readmission.h"
#include "server/replicas/replica_rows.h"

#include <cstdint>

namespace gcoord::server {

class OutboxDrain {
 public:
  // All outlive it.
  struct Environment {
    ReplicaRows& rows;
    RowReports& reports;
    RowStorage& storage;
    RowMessages& messages;
    ApplyQueue& applies;
    Readmission& readmission;
    MembersMover& members;
  };

  explicit OutboxDrain(const Environment& environment) : env_(environment) {}

  // Stores, sends, applies.
  void carry_out(std::uint32_t row, const consensus::Outbox& out);

  // Reports what changed, and keeps what goes with the row: its deadline, its entries.
  void conclude(std::uint32_t row, const RowBefore& before, const consensus::Outbox& out);

  // Has the row stepped again, if that is what it wants.
  void step_again(std::uint32_t row, const consensus::Outbox& out);

 private:
  Environment env_;
};

}  // namespace gcoord::server
