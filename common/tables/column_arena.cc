#include "common/tables/column_arena.h"

#include "common/tables/huge_pages.h"

#include <sys/mman.h>

namespace gcoord {
namespace {

std::byte* zero_pages(std::size_t bytes) {
  if (bytes == 0) {
    return nullptr;
  }
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GCOORD_ASSERT(pages != MAP_FAILED);
  prefer_huge_pages(pages, bytes);
  return static_cast<std::byte*>(pages);
}

}  // namespace

ColumnArena::ColumnArena(std::size_t capacity_bytes)
    : RegionArena(zero_pages(capacity_bytes), capacity_bytes) {}

ColumnArena::~ColumnArena() {
  if (base() != nullptr) {
    munmap(base(), capacity_bytes());
  }
}

}  // namespace gcoord
