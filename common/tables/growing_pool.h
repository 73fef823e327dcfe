// The host's owner of a RowPool: its rows grow by doubling, in place and without a pause.
//
// Rows keep their numbers; the pool's pointers change when it grows, so views of it that were
// copied before are void. Host only; one thread.
#pragma once

#include "common/tables/mapped_column.h"
#include "common/tables/row_pool.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gcoord {

template <typename Record, typename RowId>
struct GrowingPool {
  MappedColumn<Record> records;
  MappedColumn<std::uint32_t> free_rows;
  RowWindow window;

  // Makes sure of so many free rows. True when the pool's records moved.
  bool grow(RowPool<Record, RowId>& pool, std::uint32_t wanted) {
    if (pool.window != nullptr && pool.available() >= wanted) [[likely]] {
      return false;
    }
    const std::uint32_t capacity = std::max(2 * pool.capacity, window.next + wanted);
    records.resize(std::size_t{capacity} + 1);
    free_rows.resize(capacity);
    pool.records = records.data();
    pool.free_rows = free_rows.data();
    pool.window = &window;
    pool.window->last = capacity;
    pool.capacity = capacity;
    return true;
  }

  std::size_t memory_bytes() const { return records.memory_bytes() + free_rows.memory_bytes(); }
};

}  // namespace gcoord
