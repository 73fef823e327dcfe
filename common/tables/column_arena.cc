#include "common/tables/column_arena.h"

#include "common/tables/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace gcoord {
namespace {

// Less holds no whole huge page.
constexpr std::size_t kHugeFrom = kHugePageBytes;

std::byte* map(std::size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GCOORD_ASSERT(pages != MAP_FAILED);
  return static_cast<std::byte*>(pages);
}

void unmap(std::byte* start, std::size_t bytes) {
  GCOORD_ASSERT(bytes == 0 || munmap(start, bytes) == 0);
}

// Begins with a huge page: what is mapped before it and behind is given back.
std::byte* map_aligned(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t kept = (bytes + page - 1) / page * page;
  std::byte* start = map(kept + kHugePageBytes);
  const std::size_t off = reinterpret_cast<std::uintptr_t>(start) % kHugePageBytes;
  const std::size_t skipped = off == 0 ? 0 : kHugePageBytes - off;
  unmap(start, skipped);
  unmap(start + skipped + kept, kHugePageBytes - skipped);
  return start + skipped;
}

std::byte* zero_pages(std::size_t bytes, std::size_t dense_bytes) {
  GCOORD_ASSERT(dense_bytes <= bytes);
  if (bytes == 0) {
    return nullptr;
  }
  if (dense_bytes < kHugeFrom) {
    return map(bytes);
  }
  std::byte* start = map_aligned(bytes);
  want_huge_pages(start, dense_bytes);
  return start;
}

}  // namespace

ColumnArena::ColumnArena(std::size_t capacity_bytes, std::size_t dense_bytes)
    : RegionArena(zero_pages(capacity_bytes, dense_bytes), capacity_bytes) {}

ColumnArena::~ColumnArena() {
  if (base() != nullptr) {
    unmap(base(), capacity_bytes());
  }
}

}  // namespace gcoord
