#include "common/tables/mapped_column.h"

#include "common/assert.h"

#include <sys/mman.h>
#include <unistd.h>

namespace gcoord {
namespace {

// Smaller columns have little to gain: where rows are looked up at random, finding a small page
// costs a third of what the row does (docs/internals/performance_services.md).
constexpr std::size_t kHugeFrom = std::size_t{16} << 20;

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

MappedPages::~MappedPages() {
  if (start_ != nullptr) {
    GCOORD_ASSERT(::munmap(start_, bytes_) == 0);
  }
}

void MappedPages::resize(std::size_t bytes) {
  const std::size_t wanted = whole_pages(bytes);
  if (wanted <= bytes_) {
    return;
  }
  if (start_ == nullptr) {
    start_ = ::mmap(nullptr,
                    wanted,
                    PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1,
                    0);
  } else {
    start_ = ::mremap(start_, bytes_, wanted, MREMAP_MAYMOVE);
  }
  GCOORD_ASSERT(start_ != MAP_FAILED);
  bytes_ = wanted;
  if (wanted >= kHugeFrom) {
    // All of it, so that it stays one mapping: mremap refuses to grow what has pages of two kinds.
    static_cast<void>(::madvise(start_, wanted, MADV_HUGEPAGE));
  }
}

}  // namespace gcoord
