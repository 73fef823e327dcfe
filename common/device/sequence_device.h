// The order of a store before a load of another word, for memory that a GPU, a CPU or another
// process shares: what neither release nor acquire gives.
//
// Of two sides that each store a word of their own and then load the other's, at least one sees the
// other's store. Beside memory_device.h, by its contract; netcore/memory/wake_order.h decides who
// uses it. Source: PTX ISA 8.8, "Memory Consistency Model", fence.sc.
#pragma once

#include "common/hd.h"

#include <atomic>
#include <cstdint>

namespace gcoord {

// st.release.sys, fence.sc.sys, ld.acquire.sys: stores `value` and returns what `other` holds. What
// this thread wrote before is visible to whoever acquires the word. The host's twin stores and
// loads sequentially consistent, which ThreadSanitizer understands, as it does not understand
// fences.
GCOORD_HD inline std::uint64_t store_then_load_system(std::uint64_t* to,
                                                      std::uint64_t value,
                                                      const std::uint64_t* other) {
#if defined(__CUDA_ARCH__)
  std::uint64_t found = 0;
  asm volatile("st.release.sys.u64 [%1], %2;\n\tfence.sc.sys;\n\tld.acquire.sys.u64 %0, [%3];"
               : "=l"(found)
               : "l"(to), "l"(value), "l"(other)
               : "memory");
  return found;
#else
  std::atomic_ref<std::uint64_t>{*to}.store(value, std::memory_order_seq_cst);
  return std::atomic_ref<std::uint64_t>{*const_cast<std::uint64_t*>(other)}.load(
      std::memory_order_seq_cst);
#endif
}

}  // namespace gcoord
