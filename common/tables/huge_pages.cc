#include "common/tables/huge_pages.h"

#include "common/assert.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace gcoord {

void want_huge_pages(void* start, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(start);
  const std::size_t skipped = (kHugePageBytes - begin % kHugePageBytes) % kHugePageBytes;
  if (bytes < skipped + kHugePageBytes) {
    return;
  }
  static_cast<void>(::madvise(static_cast<std::byte*>(start) + skipped,
                              (bytes - skipped) / kHugePageBytes * kHugePageBytes,
                              MADV_HUGEPAGE));
}

void HugePagesFree::operator()(std::byte* start) const {
  std::free(start);
}

HugePages make_huge_pages(std::size_t bytes) {
  GCOORD_ASSERT(bytes != 0 && bytes % kHugePageBytes == 0);
  auto* start = static_cast<std::byte*>(std::aligned_alloc(kHugePageBytes, bytes));
  GCOORD_ASSERT(start != nullptr);
  want_huge_pages(start, bytes);
  return HugePages{start};
}

}  // namespace gcoord
