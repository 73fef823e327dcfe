// Copies a packed table that was built in host memory into one of the same shape on a device.
//
// Blocking, once at start; any error is the caller's to act on. Host code only.
#pragma once

#include "common/device_arena.h"
#include "consensus/packed_table.h"

namespace gcoord::consensus {

inline Status copy_wide_columns(const ShardColumns& from, const ShardColumns& to) {
  const std::size_t places = from.row_count;
  GCOORD_TRY_STATUS(copy_to_device(to.hot, from.hot, places));
  GCOORD_TRY_STATUS(copy_to_device(to.log, from.log, places));
  GCOORD_TRY_STATUS(copy_to_device(to.runs, from.runs, places));
  GCOORD_TRY_STATUS(copy_to_device(to.storage, from.storage, places));
  GCOORD_TRY_STATUS(copy_to_device(to.election, from.election, places));
  GCOORD_TRY_STATUS(copy_to_device(to.configuration, from.configuration, places));
  return copy_to_device(to.progress, from.progress, places * from.slot_count);
}

// `from` is host memory, `to` device memory.
inline Status copy_packed_table(const PackedTable& from, const PackedTable& to) {
  GCOORD_ASSERT(from.row_count == to.row_count);
  GCOORD_ASSERT(from.wide.row_count == to.wide.row_count);
  GCOORD_TRY_STATUS(copy_to_device(to.deadline, from.deadline, from.row_count));
  GCOORD_TRY_STATUS(copy_to_device(to.packed, from.packed, from.row_count));
  GCOORD_TRY_STATUS(copy_wide_columns(from.wide, to.wide));
  return copy_to_device(to.wide_taken, from.wide_taken, from.wide.row_count / kWordBits);
}

}  // namespace gcoord::consensus
