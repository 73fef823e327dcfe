// Huge pages for tables whose rows are looked up at random.
//
// Finding the page of a row costs a third of what the row does where pages are small
// (docs/internals/performance_services.md). The kernel gives a huge page as a whole from its first
// touch on, which wastes little in a table of several. Any thread.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace gcoord {

// Tables of this size and more ask for huge pages.
inline constexpr std::size_t kHugePagesFrom = std::size_t{16} << 20;

// Asks for huge pages under a mapping of so many bytes if it is large enough. A hint: a kernel
// without huge pages refuses it.
inline void prefer_huge_pages(void* start, std::size_t bytes) {
  if (bytes >= kHugePagesFrom) {
    static_cast<void>(::madvise(start, bytes, MADV_HUGEPAGE));
  }
}

}  // namespace gcoord
