// Carves columns out of one region of memory, on the host or on a device.
//
// A column is a plain array with one element per row, aligned to 128 bytes (two cache lines, one
// device line). The owner first adds up what it needs (bytes_for), then carves. The region is
// zero-filled by whoever owns it: somebody else, or an arena that begins as this one and allocates
// it too (column_arena.h, device_arena.h). So one template places columns in any of them. Not
// thread-safe.
#pragma once

#include "common/assert.h"

#include <cstddef>
#include <type_traits>

namespace gcoord {

class RegionArena {
 public:
  static constexpr std::size_t kAlignment = 128;

  // Bytes that one column of element_count elements takes, padding included.
  template <typename T>
  static constexpr std::size_t bytes_for(std::size_t element_count) {
    return (element_count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }

  RegionArena(std::byte* base, std::size_t capacity_bytes)
      : base_(base), capacity_bytes_(capacity_bytes) {}

  // The next column; asserts that the sum written out at construction covers it.
  template <typename T>
  T* column(std::size_t element_count) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t bytes = bytes_for<T>(element_count);
    GCOORD_ASSERT(used_bytes_ + bytes <= capacity_bytes_);
    auto* start = reinterpret_cast<T*>(base_ + used_bytes_);
    used_bytes_ += bytes;
    return start;
  }

  std::size_t used_bytes() const { return used_bytes_; }

  std::size_t capacity_bytes() const { return capacity_bytes_; }

 protected:
  std::byte* base() const { return base_; }

 private:
  std::byte* base_;
  std::size_t capacity_bytes_;
  std::size_t used_bytes_ = 0;
};

}  // namespace gcoord
