// Relaxed atomic operations on words that rows of one kernel share, with host twins.
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

// As above, of a 64-bit word.
GCOORD_HD inline std::uint64_t relaxed_add(std::uint64_t& word, std::uint64_t count) {
#if defined(__CUDA_ARCH__)
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  return atomicAdd(reinterpret_cast<unsigned long long*>(&word), count);
#else
  return std::atomic_ref<std::uint64_t>(word).fetch_add(count, std::memory_order_relaxed);
#endif
}

// Lowers a word to `value` if it is above. Relaxed, device scope.
GCOORD_HD inline void relaxed_least(std::uint64_t& word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  atomicMin(reinterpret_cast<unsigned long long*>(&word), value);
#else
  std::atomic_ref<std::uint64_t> shared(word);
  std::uint64_t seen = shared.load(std::memory_order_relaxed);
  while (value < seen && !shared.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
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

// Stores `value` where there is 0; false, and no change, where there is something else. Relaxed,
// device scope.
GCOORD_HD inline bool relaxed_claim(std::uint64_t& word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  return atomicCAS(reinterpret_cast<unsigned long long*>(&word), 0ull, value) == 0;
#else
  std::uint64_t free = 0;
  return std::atomic_ref<std::uint64_t>(word).compare_exchange_strong(
      free, value, std::memory_order_relaxed);
#endif
}

// Replaces a word that this thread alone may change now, while others look at it or try to claim
// it. On a device a weak store, which keeps the line in the first-level cache; see word_line.h.
GCOORD_HD inline void relaxed_store(std::uint64_t& word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  word = value;
#else
  std::atomic_ref<std::uint64_t>(word).store(value, std::memory_order_relaxed);
#endif
}

}  // namespace gcoord
