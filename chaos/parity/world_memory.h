// The memory of a cluster with packed rows: how much, and where everything lies.
//
// The same sum and the same order for device memory and for its host twin, so that the host can
// run exactly what the kernels run. Host code only; `Arena` is ColumnArena or DeviceArena.
#pragma once

#include "chaos/parity/device.h"
#include "chaos/parity/world.h"
#include "common/tables/column_arena.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::chaos {

struct DeviceWorldMemory {
  DeviceWorldView world;
  std::uint64_t* digest = nullptr;    // By row, for one node at a time.
  consensus::RowCopy* row = nullptr;  // One row on its way to the host.
};

inline std::size_t device_world_bytes(const ResidentShape& shape, std::uint32_t wide_count) {
  const std::size_t tables =
      consensus::packed_table_bytes(shape.shard_count, kResidentNodes, wide_count);
  const std::size_t lists = 2 * ColumnArena::bytes_for<std::uint32_t>(shape.shard_count) +
                            ColumnArena::bytes_for<ListedBlock>(block_count_of(shape.shard_count));
  return resident_bytes(shape) + kResidentNodes * (tables + lists) +
         ColumnArena::bytes_for<std::uint32_t>(4 * kResidentNodes) +
         ColumnArena::bytes_for<std::uint64_t>(kResidentNodes) +
         ColumnArena::bytes_for<std::uint64_t>(shape.shard_count) +
         ColumnArena::bytes_for<consensus::RowCopy>(1);
}

template <typename Arena>
DeviceWorldMemory carve_device_world(Arena& arena,
                                     const ResidentShape& shape,
                                     std::uint32_t wide_count) {
  DeviceWorldMemory memory;
  DeviceWorldView& world = memory.world;
  world.view = carve_resident(arena, shape);
  for (std::uint32_t node = 0; node < kResidentNodes; ++node) {
    world.table[node] =
        consensus::carve_packed_table(arena, shape.shard_count, kResidentNodes, wide_count);
    world.active.block[node] =
        arena.template column<ListedBlock>(block_count_of(shape.shard_count));
    world.active.listed[node] = arena.template column<std::uint32_t>(shape.shard_count);
    world.active.rest[node] = arena.template column<std::uint32_t>(shape.shard_count);
  }
  world.active.count = arena.template column<std::uint32_t>(4 * kResidentNodes);
  world.active.steps = arena.template column<std::uint64_t>(kResidentNodes);
  memory.digest = arena.template column<std::uint64_t>(shape.shard_count);
  memory.row = arena.template column<consensus::RowCopy>(1);
  return memory;
}

// Split by what a replica needs at rest, what the exceptional and the active ones need, and pages.
inline ResidentMemory device_world_memory(const ResidentShape& shape, std::uint32_t wide_count) {
  const std::size_t rows = shape.shard_count;
  const std::size_t wide =
      consensus::shard_columns_bytes(consensus::whole_words(wide_count), kResidentNodes);
  // Where a row speaks in each of the last turns, and to whom; its place in two lists.
  const std::size_t found = rows * (sizeof(std::uint32_t) + 1) * shape.ages;
  const std::size_t at_rest = rows * (sizeof(Tick) + sizeof(consensus::PackedRow) + 1) + found +
                              rows * 2 * sizeof(std::uint32_t);
  return {.row_bytes = kResidentNodes * at_rest,
          .wide_bytes = kResidentNodes * wide,
          .outgoing_bytes = kResidentNodes * (shape.ages * outgoing_bytes(shape) - found),
          .log_bytes = kResidentNodes * rows * (shape.log_slots * sizeof(Entry) + sizeof(Service))};
}

}  // namespace gcoord::chaos
