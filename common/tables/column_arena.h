// The memory of all columns of a node: one allocation at start, carved into columns, none after
// "ready".
//
// Zero-filled host memory that lives as long as the arena; device_arena.h is its device twin. Not
// thread-safe.
#pragma once

#include "common/region_arena.h"

#include <cstddef>

namespace gcoord {

class ColumnArena : public RegionArena {
 public:
  // Reserves capacity_bytes of zero pages; the kernel backs a page on first touch. Aborts when
  // there is no memory.
  explicit ColumnArena(std::size_t capacity_bytes) : ColumnArena(capacity_bytes, capacity_bytes) {}

  // Of them the first dense_bytes are used side by side, and lie in huge pages where there are
  // several; the rest are used here and there.
  ColumnArena(std::size_t capacity_bytes, std::size_t dense_bytes);
  ~ColumnArena();
  ColumnArena(const ColumnArena&) = delete;
  ColumnArena& operator=(const ColumnArena&) = delete;
};

}  // namespace gcoord
