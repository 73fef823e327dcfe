#include "common/column_arena.h"

#include <sys/mman.h>

namespace gcoord {

ColumnArena::ColumnArena(std::size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {
  if (capacity_bytes_ == 0) {
    return;
  }
  void* pages =
      mmap(nullptr, capacity_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GCOORD_ASSERT(pages != MAP_FAILED);
  base_ = static_cast<std::byte*>(pages);
}

ColumnArena::~ColumnArena() {
  if (base_ != nullptr) {
    munmap(base_, capacity_bytes_);
  }
}

}  // namespace gcoord
