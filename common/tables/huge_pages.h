// Huge pages for tables that live long and are read anywhere.
//
// Where rows are looked up at random, finding a small page costs as much as the row does: a busy
// node has more of them than a processor remembers the places of. A huge page is had as a whole
// from its first touch on, so this is for memory that is used side by side. Host only; any thread.
#pragma once

#include <cstddef>
#include <memory>

namespace gcoord {

// Of x86-64, and of arm64 with pages of 4 KiB.
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// Has the kernel back the whole huge pages in [start, start + bytes) by such from their next touch
// on. A hint: a kernel without them refuses it, and nothing else changes.
void want_huge_pages(void* start, std::size_t bytes);

struct HugePagesFree {
  void operator()(std::byte* start) const;
};

using HugePages = std::unique_ptr<std::byte[], HugePagesFree>;

// Memory that begins with a huge page and wants such; what is in it is not given. Whole huge pages
// only: `bytes` is a multiple of kHugePageBytes. Aborts when there is no memory.
HugePages make_huge_pages(std::size_t bytes);

}  // namespace gcoord
