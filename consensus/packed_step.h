// One row of a packed table through one step, with everything that goes in and comes out side by
// side in arrays.
//
// What: the body of the kernel behind the CUDA stepper, and of its host twin in tests. Why apart:
// a kernel holds no logic. The thread that is given element k owns row rows[k] for the call; no
// row appears twice in a batch. Host and device.
#pragma once

#include "common/hd.h"
#include "consensus/inbox.h"
#include "consensus/outbox.h"
#include "consensus/packed_table.h"
#include "consensus/step.h"

#include <cstdint>

namespace gcoord::consensus {

// A POD view of one call; every array has count elements.
struct PackedBatch {
  std::uint32_t count = 0;
  const std::uint32_t* rows = nullptr;
  const Inbox* in = nullptr;
  Outbox* out = nullptr;
  RowCopy* after = nullptr;  // The row as the step left it.
};

GCOORD_HD inline void step_packed(const PackedTable& table,
                                  const PackedBatch& batch,
                                  std::uint32_t k,
                                  const StepInput& input) {
  GCOORD_ASSERT(k < batch.count);
  const std::uint32_t row = batch.rows[k];
  RowCopy& copy = batch.after[k];
  const ShardRef shard = ref_of(copy, ShardId{row}, table.slot_count);
  const std::uint32_t wide_place = load_row(table, row, shard);
  step(shard, batch.in[k], batch.out[k], input);
  store_row(table, row, wide_place, shard);
}

}  // namespace gcoord::consensus
