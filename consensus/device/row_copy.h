// Rows outside their table: as one value that travels, or as the parts that a thread works on.
//
// What: RowCopy is all columns of a row side by side, for the way between a device and the host.
// `ref_of` makes a table of one out of parts that lie anywhere, so that the step sees no
// difference. Why parts: a thread that steps a row touches its fields tens of times, and in columns
// the lanes of a warp touch different lines each time. As locals of their own, the parts without
// arrays become registers; one struct of all of them would stay in memory for the sake of its
// arrays. Contract: plain values, no pointers; the owner loads the parts, steps them and stores
// them back before anybody else looks at the row. Parts must outlive the reference. Host and
// device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "consensus/step/shard_table.h"

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

// The parts of one row; progress has slot_count elements.
struct RowParts {
  Hot& hot;
  Log& log;
  LogRuns& runs;
  Storage& storage;
  Election& election;
  Configuration& configuration;
  Progress* progress;
};

GCOORD_HD inline ShardRef ref_of(const RowParts& parts, ShardId shard, std::uint32_t slot_count) {
  ShardColumns columns;
  columns.row_count = 1;
  columns.slot_count = slot_count;
  columns.first_shard = shard.value;
  columns.hot = &parts.hot;
  columns.log = &parts.log;
  columns.runs = &parts.runs;
  columns.storage = &parts.storage;
  columns.election = &parts.election;
  columns.configuration = &parts.configuration;
  columns.progress = parts.progress;
  return {columns, 0};
}

GCOORD_HD inline ShardRef ref_of(RowCopy& copy, ShardId shard, std::uint32_t slot_count) {
  return ref_of(RowParts{copy.hot,
                         copy.log,
                         copy.runs,
                         copy.storage,
                         copy.election,
                         copy.configuration,
                         copy.progress},
                shard,
                slot_count);
}

// Copies a row between two tables of equally many slots.
GCOORD_HD inline void copy_row(ShardRef from, ShardRef to) {
  GCOORD_ASSERT(from.slot_count() == to.slot_count());
  to.hot() = from.hot();
  to.log() = from.log();
  to.runs() = from.runs();
  to.storage() = from.storage();
  to.election() = from.election();
  to.configuration() = from.configuration();
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < to.slot_count(); ++slot) {
    to.progress(slot) = from.progress(slot);
  }
}

// A row as one value; slots that its table does not have are empty.
GCOORD_HD inline RowCopy copy_of(ShardRef from) {
  RowCopy copy{};
  copy_row(from, ref_of(copy, from.shard(), from.slot_count()));
  return copy;
}

}  // namespace gcoord::consensus
