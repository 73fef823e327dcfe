// Prefetch of rows: brings the columns of a row into the cache before the row is settled or
// stepped.
//
// The rows of a turn lie anywhere in hundreds of megabytes, and most of a step's time would be
// waiting for them. Hints only: no effect on results.
#pragma once

#include "common/device/prefetch.h"
#include "consensus/step/shard_table.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::server {

// Rows between the one that is worked on and the one that is prefetched. Memory answers after the
// time of two or three of them, and a first-level cache has room for several times as many.
inline constexpr std::size_t kRowsAhead = 6;

// A field that may cross a line of the cache.
template <typename Field>
void prefetch_field(const Field& field) {
  prefetch(&field);
  prefetch(reinterpret_cast<const std::byte*>(&field + 1) - 1);
}

// All columns of the row.
inline void prefetch_row(const consensus::ShardColumns& columns, std::uint32_t row) {
  prefetch(&columns.hot[row]);
  prefetch(&columns.log[row]);
  prefetch_field(columns.runs[row]);
  prefetch_field(columns.storage[row]);
  prefetch_field(columns.election[row]);
  prefetch_field(columns.configuration[row]);
  for (std::uint32_t slot = 0; slot < columns.slot_count; ++slot) {
    prefetch_field(columns.progress[static_cast<std::size_t>(slot) * columns.row_count + row]);
  }
}

}  // namespace gcoord::server
