// A batch of rows on its way through a device: what the host stages, what the device gives back.
//
// What: the host stages, per row, the head of its inbox and where its messages and its
// configuration begin in arrays that hold nothing but what is used; all of it is one copy. The
// device steps the rows out of its packed table. It writes one SteppedRow per row, which are copied
// back together, and pushes what few rows have (messages, the columns of a wide row) right into
// host memory. So an inbox of one message moves one, not eight.
// Why here: the body of the kernel is a function that the host runs as well, over memory of its
// own (tests). Contract: the thread that is given element k owns row rows[k].row for the call; no
// row appears twice in a batch. POD views; host and device.
#pragma once

#include "common/hd.h"
#include "consensus/device/packed_table.h"
#include "consensus/device/stored_digest.h"
#include "consensus/step/inbox.h"
#include "consensus/step/outbox.h"
#include "consensus/step/step.h"

#include <cstdint>

namespace gcoord::consensus {

// Input of one row.
struct StagedRow {
  std::uint32_t row = 0;
  ShardId shard;                    // Of the row: the row map is the host's.
  std::uint32_t message_first = 0;  // Of StagedBatch::messages.
  std::uint32_t configuration = 0;  // Of StagedBatch::configurations; meant if the head says so.
  std::uint64_t digest = 0;  // Of the row as it must lie there (stored_digest.h); 0: not known.
  InboxHead head;
};

// Where the state of a row is after a step.
enum class RowForm : std::uint32_t {
  Packed = 0,  // In SteppedRow::packed.
  Wide = 1,    // In StagedBatch::wide.
  Lost = 2,    // Nowhere: it is wide and the pool is full. The owner stops.
  // It was not stepped, because it is not what it was: what is given back is what was found, and
  // the owner stops.
  Altered = 3,
};

// Output of one row, but for its messages.
struct SteppedRow {
  PackedRow packed;
  Tick deadline;
  RowForm form = RowForm::Packed;
  std::uint32_t reserved = 0;
  OutboxHead head;
  LogIndex stored[kInboxMessages];
};

// One call; rows, configurations, messages and stepped lie on the device, wide and outgoing are
// host memory that the device can write: kOutboxMessages places and one RowCopy for every row.
struct StagedBatch {
  std::uint32_t count = 0;
  const StagedRow* rows = nullptr;
  const Configuration* configurations = nullptr;
  const Message* messages = nullptr;
  SteppedRow* stepped = nullptr;
  RowCopy* wide = nullptr;
  Message* outgoing = nullptr;
};

// Puts the row back and says where; `wide` is where a wide one is pushed to.
GCOORD_HD inline RowForm give_back(const PackedTable& table,
                                   std::uint32_t row,
                                   std::uint32_t wide_place,
                                   ShardRef shard,
                                   RowCopy& wide) {
  if (!store_row(table, row, wide_place, shard)) {
    return RowForm::Lost;
  }
  if (!is_wide(table.packed[row])) {
    return RowForm::Packed;
  }
  copy_row(shard, ref_of(wide, shard.shard(), shard.slot_count()));
  return RowForm::Wide;
}

// Shows a row as it lies there, for the record of what became of it.
GCOORD_HD inline void show_altered(const PackedTable& table,
                                   const StagedRow& in,
                                   SteppedRow& out,
                                   RowCopy& wide) {
  out.head.clear();
  out.form = RowForm::Altered;
  out.packed = table.packed[in.row];
  out.deadline = table.deadline[in.row];
  if (is_wide(out.packed) && has_place(table, out.packed)) {
    const ShardRef found(table.wide, static_cast<std::uint32_t>(out.packed.term));
    copy_row(found, ref_of(wide, in.shard, found.slot_count()));
  }
}

GCOORD_HD inline void step_staged(const PackedTable& table,
                                  const StagedBatch& batch,
                                  std::uint32_t k,
                                  const StepInput& input) {
  GCOORD_ASSERT(k < batch.count);
  const StagedRow& in = batch.rows[k];
  SteppedRow& out = batch.stepped[k];
  if (in.digest != 0 && stored_digest(table, in.row) != in.digest) {
    return show_altered(table, in, out, batch.wide[k]);
  }
  RowCopy copy{};
  const ShardRef shard = ref_of(copy, in.shard, table.slot_count);
  const std::uint32_t wide_place = load_row(table, in.row, shard);
  for (LogIndex& first : out.stored) {
    first = LogIndex{};
  }
  const StepArrays arrays{
      .configuration = batch.configurations + in.configuration,
      .stored = out.stored,
      .sink =
          sink_of(batch.outgoing + static_cast<std::size_t>(k) * kOutboxMessages, kOutboxMessages)};
  step_with(shard, in.head, batch.messages + in.message_first, out.head, arrays, input);
  out.form = give_back(table, in.row, wide_place, shard, batch.wide[k]);
  out.packed = table.packed[in.row];
  out.deadline = shard.hot().deadline;
}

// One look at rows that nobody steps: the digests of row_count rows from row_first on
// (stored_digest.h) into `digests`, which begins the stepped region and comes back as far as used.
struct SweepCall {
  PackedTable table;
  std::uint32_t row_first = 0;
  std::uint32_t row_count = 0;
  std::uint64_t* digests = nullptr;
};

// What thread k of a sweep does.
GCOORD_HD inline void sweep_row(const SweepCall& call, std::uint32_t k) {
  GCOORD_ASSERT(k < call.row_count);
  call.digests[k] = stored_digest(call.table, call.row_first + k);
}

}  // namespace gcoord::consensus
