// Relaxed atomic operations on 32-bit words that rows of one kernel share, with host twins.
//
// What: counters and bit maps that many threads of one launch change, where only the arithmetic
// must not get lost. Why here: which instruction that is depends on the compiler, and no other
// folder may look at it. All are relaxed and of device scope: they order nothing. Whoever needs
// the values reads them after the kernel, or after a launch that follows it. Wait-free; host and
// device; a word is naturally aligned.
#pragma once

#include "common/hd.h"

#include <atomic>
#include <cstdint>

namespace gcoord {

// Adds and returns the value before. Relaxed, device scope.
GCOORD_HD inline std::uint32_t relaxed_add(std::uint32_t& word, std::uint32_t count) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(&word, count);
#else
  return std::atomic_ref<std::uint32_t>(word).fetch_add(count, std::memory_order_relaxed);
#endif
}

// Sets the bits of `mask` and returns the value before. Relaxed, device scope.
GCOORD_HD inline std::uint32_t relaxed_set(std::uint32_t& word, std::uint32_t mask) {
#if defined(__CUDA_ARCH__)
  return atomicOr(&word, mask);
#else
  return std::atomic_ref<std::uint32_t>(word).fetch_or(mask, std::memory_order_relaxed);
#endif
}

// Clears the bits of `mask` and returns the value before. Relaxed, device scope.
GCOORD_HD inline std::uint32_t relaxed_clear(std::uint32_t& word, std::uint32_t mask) {
#if defined(__CUDA_ARCH__)
  return atomicAnd(&word, ~mask);
#else
  return std::atomic_ref<std::uint32_t>(word).fetch_and(~mask, std::memory_order_relaxed);
#endif
}

}  // namespace gcoord
