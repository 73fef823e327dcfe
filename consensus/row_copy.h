// All columns of one row, side by side: what a device thread steps, and what travels between a
// device and the host.
//
// Why: a thread that steps a row touches its fields tens of times. In columns of 32 to 96 bytes the
// lanes of a warp touch different lines each time; a copy lives in the thread's registers and local
// memory, which the lanes share line by line. Plain values, no pointers. The owner loads the copy,
// steps it through `ref_of` and stores it back before anybody else looks at the row. Host and
// device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "consensus/shard_table.h"

#include <cstdint>

namespace gcoord::consensus {

struct RowCopy {
  Hot hot;
  Log log;
  LogRuns runs;
  Storage storage;
  Election election;
  Configuration configuration;
  Progress progress[kReplicaSlots];
};

static_assert(sizeof(RowCopy) == 568);

// The copy as a row of a table of one: the step sees no difference. The copy must outlive the
// reference.
GCOORD_HD inline ShardRef ref_of(RowCopy& copy, ShardId shard, std::uint32_t slot_count) {
  ShardColumns columns;
  columns.row_count = 1;
  columns.slot_count = slot_count;
  columns.first_shard = shard.value;
  columns.hot = &copy.hot;
  columns.log = &copy.log;
  columns.runs = &copy.runs;
  columns.storage = &copy.storage;
  columns.election = &copy.election;
  columns.configuration = &copy.configuration;
  columns.progress = copy.progress;
  return {columns, 0};
}

// Takes a row out of its columns. Slots that the table does not have are empty in the copy.
GCOORD_HD inline void copy_row(ShardRef from, RowCopy& to) {
  to.hot = from.hot();
  to.log = from.log();
  to.runs = from.runs();
  to.storage = from.storage();
  to.election = from.election();
  to.configuration = from.configuration();
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    to.progress[slot] = slot < from.slot_count() ? from.progress(slot) : Progress{};
  }
}

// Puts a copy into columns.
GCOORD_HD inline void copy_row(const RowCopy& from, ShardRef to) {
  to.hot() = from.hot;
  to.log() = from.log;
  to.runs() = from.runs;
  to.storage() = from.storage;
  to.election() = from.election;
  to.configuration() = from.configuration;
  for (std::uint32_t slot = 0; slot < to.slot_count(); ++slot) {
    to.progress(slot) = from.progress[slot];
  }
}

}  // namespace gcoord::consensus
