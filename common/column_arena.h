// The memory of all columns of a node: one allocation at start, carved into columns, none after
// "ready".
//
// A column is a plain array with one element per row. The owner first adds up what it needs
// (bytes_for), then carves. Memory is zero-filled, aligned to 128 bytes (two cache lines, one
// device line) and lives as long as the arena. Host memory; a device arena of the same shape comes
// with the CUDA stepper. Not thread-safe.
#pragma once

#include "common/assert.h"

#include <cstddef>
#include <type_traits>

namespace gcoord {

class ColumnArena {
 public:
  static constexpr std::size_t kAlignment = 128;

  // Bytes that one column of element_count elements takes, padding included.
  template <typename T>
  static constexpr std::size_t bytes_for(std::size_t element_count) {
    return (element_count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }

  // Reserves capacity_bytes of zero pages; the kernel backs a page on first touch. Aborts when
  // there is no memory.
  explicit ColumnArena(std::size_t capacity_bytes);
  ~ColumnArena();
  ColumnArena(const ColumnArena&) = delete;
  ColumnArena& operator=(const ColumnArena&) = delete;

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

 private:
  std::byte* base_ = nullptr;
  std::size_t capacity_bytes_ = 0;
  std::size_t used_bytes_ = 0;
};

}  // namespace gcoord
