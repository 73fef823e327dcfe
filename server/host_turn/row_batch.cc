#include "server/host_turn/row_batch.h"

#include "common/assert.h"
#include "server/host_turn/prefetch_rows.h"
#include "server/replicas/shard_codec.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

using consensus::Inbox;
using consensus::Outbox;

namespace {

// Takes an inbox back to "no input"; message slots beyond the count are never read.
void clear(Inbox& in) {
  in.message_count = 0;
  in.proposal_count = 0;
  in.read_sequence = 0;
  in.read_proof = consensus::ReadProof::LeaseOrRound;
  in.applied = LogIndex{};
  in.compact_to = LogIndex{};
  in.storage_ack = consensus::StorageAck{};
  in.transfer_to = NodeId{};
  in.snapshot_failed = NodeId{};
  in.campaign = 0;
  in.woken = 0;
  in.configuration_input = consensus::ConfigurationInput::None;
  in.configuration_index = LogIndex{};
}

}  // namespace

RowBatch::RowBatch(const Environment& environment)
    : env_(environment),
      in_(env_.rows.stepper->batch_rows()),
      out_(in_.size()),
      places_(in_.size()) {}

bool RowBatch::take() {
  env_.rows.active.take_batch(batch_rows_, in_.size());
  for (const std::uint32_t row : batch_rows_) {
    prefetch_row(env_.rows.columns(), row);
  }
  return !batch_rows_.empty();
}

Status RowBatch::fill(const consensus::StepInput& input) {
  for (std::size_t k = 0; k < batch_rows_.size(); ++k) {
    fill_row(k, input);
  }
  return make_slots();
}

// A configuration may name more replicas than the rows have slots for so far.
Status RowBatch::make_slots() {
  std::uint32_t wanted = 0;
  for (std::size_t k = 0; k < batch_rows_.size(); ++k) {
    if (in_[k].configuration_input != consensus::ConfigurationInput::None) {
      wanted = std::max(wanted, consensus::slots_of(in_[k].configuration));
    }
  }
  return wanted > env_.rows.columns().slot_count ? env_.rows.stepper->grow(wanted) : Status{};
}

// A step that fails leaves rows, inboxes and outboxes as they fell.
Status RowBatch::step(const consensus::StepInput& input) {
  return env_.rows.stepper->step(batch_rows_, in_, out_, input);
}

void RowBatch::drain() {
  for (std::size_t k = 0; k < batch_rows_.size(); ++k) {
    drain_row(k);
  }
}

void RowBatch::fill_row(std::size_t k, const consensus::StepInput& input) {
  const std::uint32_t row = batch_rows_[k];
  RowWork& work = *env_.rows.active.find(row);
  Inbox& in = in_[k];
  Place& place = places_[k];
  clear(in);
  place.before.hot = env_.rows.ref(row).hot();
  place.before.log = env_.rows.ref(row).log();
  fill_acknowledgements(work, in);
  if (work.held) {
    return;
  }
  in.woken = std::exchange(work.woken, std::uint8_t{0});
  in.transfer_to = std::exchange(work.transfer_to, NodeId{});
  in.snapshot_failed = std::exchange(work.snapshot_failed, NodeId{});
  in.proposal_count = work.proposal_count;
  fill_messages(work, place, in);
  fill_proposed(work, place, in);
  env_.answers.serve_reads(work, in, input);
}

void RowBatch::fill_acknowledgements(RowWork& work, Inbox& in) {
  in.storage_ack = std::exchange(work.storage_ack, consensus::StorageAck{});
  in.applied = std::exchange(work.applied, LogIndex{});
  in.compact_to = std::exchange(work.compact_to, LogIndex{});
  if (work.configuration) {
    in.configuration_input = consensus::ConfigurationInput::Applied;
    in.configuration_index = std::exchange(work.configuration_index, LogIndex{});
    in.configuration = *work.configuration;
    work.configuration.reset();
  }
}

void RowBatch::fill_messages(RowWork& work, Place& place, Inbox& in) {
  // One configuration per inbox: a snapshot waits for an applied configuration to pass.
  if (work.snapshot && in.configuration_input == consensus::ConfigurationInput::None) {
    place.snapshot = env_.rows.active.take_snapshot(work);
    place.message_number[in.message_count] = 0;
    in.message[in.message_count++] = place.snapshot->message;
    in.configuration_input = consensus::ConfigurationInput::Installed;
    in.configuration = decode_snapshot(place.snapshot->bytes)->configuration;
  } else if (work.snapshot) {
    env_.rows.active.touch(work.row);
  }
  while (work.message_first != 0 && in.message_count < consensus::kInboxMessages) {
    const std::uint32_t number = env_.rows.active.take_message(work);
    place.message_number[in.message_count] = number;
    in.message[in.message_count++] = env_.rows.active.message(number).message;
  }
}

// A configuration to propose waits, too, for one that comes from outside.
void RowBatch::fill_proposed(RowWork& work, Place& place, Inbox& in) {
  if (!work.proposed) {
    return;
  }
  if (in.configuration_input != consensus::ConfigurationInput::None) {
    env_.rows.active.touch(work.row);
    return;
  }
  place.proposed = std::move(work.proposed);
  in.configuration_input = consensus::ConfigurationInput::Proposed;
  in.configuration = *place.proposed;
}

void RowBatch::drain_row(std::size_t k) {
  const std::uint32_t row = batch_rows_[k];
  const Outbox& out = out_[k];
  Place& place = places_[k];
  env_.answers.on_leadership_ended(row, place.before);
  if (out.snapshot_installed != 0) {
    install_snapshot(row, place);
  }
  place.snapshot.reset();
  for (std::uint32_t m = 0; m < in_[k].message_count; ++m) {
    if (out.stored[m].value != 0) {
      const QueuedMessage& queued = env_.rows.active.message(place.message_number[m]);
      env_.storage.store_entries(
          row, {queued.message, env_.rows.active.extent(queued)}, out.stored[m]);
    }
  }
  env_.storage.store_proposed(row, out, place.proposed.get());
  place.proposed.reset();
  settle_proposals(row, in_[k].proposal_count, out);
  env_.storage.store_own_entry(row, out.own_entry);
  if (!env_.failure.ok()) {
    return;
  }
  env_.drain.carry_out(row, out);
  env_.answers.settle_read(row, out);
  env_.drain.conclude(row, place.before, out);
  leave_row(row, out);
}

void RowBatch::install_snapshot(std::uint32_t row, Place& place) {
  GCOORD_ASSERT(place.snapshot != nullptr);
  // What was to be applied in this turn is part of the snapshot.
  env_.applies.drop(row);
  if (const Status status = env_.storage.install_snapshot(row, place.snapshot->bytes);
      !status.ok()) {
    env_.failure.set(status);
    return;
  }
  env_.answers.on_applied(*env_.rows.active.find(row), env_.rows.ref(row).log().applied);
}

// `asked` proposals were offered to the step; more may have come since and wait.
void RowBatch::settle_proposals(std::uint32_t row, std::uint32_t asked, const Outbox& out) {
  for (std::uint32_t k = 0; k < asked; ++k) {
    RowWork& work = *env_.rows.active.find(row);
    EntryBlock* block = work.proposal_first;
    work.proposal_first = block->next;
    --work.proposal_count;
    if (k < out.accepted.count) {
      env_.rows.log.put(row, out.accepted.first + k, block);
      continue;
    }
    const std::uint64_t cookie = block->cookie;
    env_.rows.pool.release(block);
    env_.answers.fail_proposal(row, cookie, out.proposal);
  }
}

// When the row is to be stepped again.
void RowBatch::leave_row(std::uint32_t row, const Outbox& out) {
  const RowWork& work = *env_.rows.active.find(row);
  if (work.message_first != 0 && !work.held) {
    env_.rows.active.put_back(row);
  } else {
    env_.drain.step_again(row, out);
  }
  env_.rows.active.release_if_idle(row);
}

}  // namespace gcoord::server
