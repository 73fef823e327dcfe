// Columns carved out of one registered range of memory, host or device (memory_registry.h).
//
// What ColumnArena and DeviceArena do with memory of their own, for memory that the registry owns
// and gives back. The sum is written out before the range is allocated; carving asserts that it
// covers everything. Pointers are valid where the range is. Host only.
#pragma once

#include "common/assert.h"
#include "common/tables/column_arena.h"
#include "netcore/memory/registry.h"

#include <cstddef>
#include <type_traits>

namespace gcoord::server {

class RangeArena {
 public:
  // `range` outlives the columns; its memory is zeros.
  explicit RangeArena(const netcore::MemoryRange& range) : range_(range) {}

  template <typename T>
  T* column(std::size_t element_count) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t bytes = ColumnArena::bytes_for<T>(element_count);
    GCOORD_ASSERT(used_bytes_ + bytes <= range_.bytes);
    auto* start = reinterpret_cast<T*>(range_.address + used_bytes_);
    used_bytes_ += bytes;
    return start;
  }

 private:
  netcore::MemoryRange range_;
  std::size_t used_bytes_ = 0;
};

}  // namespace gcoord::server
