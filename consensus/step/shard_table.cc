#include "consensus/step/shard_table.h"

#include "consensus/step/recover.h"
#include "consensus/step/row_digest.h"

namespace gcoord::consensus {

std::size_t shard_columns_bytes(std::uint32_t row_count, std::uint32_t slot_count) {
  const std::size_t rows = row_count;
  return ColumnArena::bytes_for<Hot>(rows) + ColumnArena::bytes_for<Log>(rows) +
         ColumnArena::bytes_for<LogRuns>(rows) + ColumnArena::bytes_for<Storage>(rows) +
         ColumnArena::bytes_for<Election>(rows) + ColumnArena::bytes_for<Configuration>(rows) +
         ColumnArena::bytes_for<Progress>(rows * slot_count);
}

std::size_t growing_columns_bytes(std::uint32_t row_count) {
  return shard_columns_bytes(row_count, kReplicaSlots);
}

void grow_slots(ShardColumns& columns, std::uint32_t slot_count) {
  GCOORD_ASSERT(slot_count >= columns.slot_count);
  GCOORD_ASSERT(slot_count <= kReplicaSlots);
  columns.slot_count = slot_count;
}

ShardColumns carve_shard_columns(ColumnArena& arena,
                                 std::uint32_t row_count,
                                 std::uint32_t slot_count) {
  const ShardColumns columns = place_shard_columns(arena, row_count, slot_count);
  for (std::uint32_t row = 0; row < row_count; ++row) {
    recover(ShardRef(columns, row), RecoveredShard{}, NodeId{});
  }
  return columns;
}

std::uint64_t row_digest(const ShardColumns& columns, std::uint32_t row) {
  return row_digest(ShardRef(columns, row));
}

}  // namespace gcoord::consensus
