// Carves columns out of memory that somebody else owns, on the host or on a device.
//
// The same shape as ColumnArena, so that one template places columns in either. Memory is aligned
// to 128 bytes and zero-filled by its owner. Not thread-safe.
#pragma once

#include "common/assert.h"
#include "common/column_arena.h"

#include <cstddef>
#include <type_traits>

namespace gcoord {

class RegionArena {
 public:
  RegionArena(std::byte* base, std::size_t capacity_bytes)
      : base_(base), capacity_bytes_(capacity_bytes) {}

  // The next column; asserts that the region holds it.
  template <typename T>
  T* column(std::size_t element_count) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t bytes = ColumnArena::bytes_for<T>(element_count);
    GCOORD_ASSERT(used_bytes_ + bytes <= capacity_bytes_);
    auto* start = reinterpret_cast<T*>(base_ + used_bytes_);
    used_bytes_ += bytes;
    return start;
  }

  std::size_t used_bytes() const { return used_bytes_; }

 private:
  std::byte* base_;
  std::size_t capacity_bytes_;
  std::size_t used_bytes_ = 0;
};

}  // namespace gcoord
