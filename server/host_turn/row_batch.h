// The rows that are stepped together: their inboxes filled, their outboxes drained.
//
// A turn steps its active rows batch by batch. fill() gives every row of the batch what waits for
// it; after the step drain() carries out what the row asked for, in the order of
// consensus/step/outbox.h. One thread.
#pragma once

#include "common/ids.h"
#include "consensus/step/inbox.h"
#include "consensus/step/outbox.h"
#include "server/host_turn/apply_queue.h"
#include "server/host_turn/outbox_drain.h"
#include "server/host_turn/row_answers.h"
#include "server/host_turn/row_storage.h"
#include "server/replicas/active.h"
#include "server/replicas/failure_latch.h"
#include "server/replicas/replica_rows.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::server {

class RowBatch {
 public:
  // All outlive it.
  struct Environment {
    ReplicaRows& rows;
    RowAnswers& answers;
    RowStorage& storage;
    ApplyQueue& applies;
    OutboxDrain& drain;
    FailureLatch& failure;
  };

  explicit RowBatch(const Environment& environment);

  // Takes the next rows of the turn; false: there are none left.
  bool take();

  std::size_t size() const { return batch_rows_.size(); }

  // `input` is that of the step to come. Fails as the stepper does.
  Status fill(const consensus::StepInput& input);

  Status step(const consensus::StepInput& input);

  // After a failure of one row the others' proposals still end, and nothing else is carried out.
  void drain();

 private:
  // A row's place in the batch, beside its inbox and outbox.
  struct Place {
    RowBefore before;
    std::array<std::uint32_t, consensus::kInboxMessages> message_number{};  // 0: the snapshot.
    std::unique_ptr<ArrivedSnapshot> snapshot;
    std::unique_ptr<consensus::Configuration> proposed;  // Of its inbox, to be kept if accepted.
  };

  Status make_slots();
  void fill_row(std::size_t k, const consensus::StepInput& input);
  static void fill_acknowledgements(RowWork& work, consensus::Inbox& in);
  void fill_messages(RowWork& work, Place& place, consensus::Inbox& in);
  void fill_proposed(RowWork& work, Place& place, consensus::Inbox& in);

  void drain_row(std::size_t k);
  void install_snapshot(std::uint32_t row, Place& place);
  void settle_proposals(std::uint32_t row, std::uint32_t asked, const consensus::Outbox& out);
  void leave_row(std::uint32_t row, const consensus::Outbox& out);

  Environment env_;
  std::vector<std::uint32_t> batch_rows_;
  std::vector<consensus::Inbox> in_;
  std::vector<consensus::Outbox> out_;
  std::vector<Place> places_;
};

}  // namespace gcoord::server
