// The least of what many threads say, of words that threads of one launch share.
//
// Relaxed and of device scope, as device_atomic.h: it orders nothing, and whoever needs the value
// reads it after the kernel. Wait-free on a device; host and device; a word is naturally aligned.
#pragma once

#include "common/hd.h"

#include <atomic>
#include <cstdint>

namespace gcoord {

// Leaves the lesser of the word and `value` in the word. Relaxed, device scope.
GCOORD_HD inline void relaxed_minimum(std::uint32_t& word, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  atomicMin(&word, value);
#else
  const std::atomic_ref<std::uint32_t> shared(word);
  std::uint32_t seen = shared.load(std::memory_order_relaxed);
  while (value < seen && !shared.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
#endif
}

// As above, of a 64-bit word. Looks first, so that of many threads only those ask for the word that
// have a lesser value than it had a moment ago.
GCOORD_HD inline void relaxed_minimum(std::uint64_t& word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  auto* const shared = reinterpret_cast<unsigned long long*>(&word);
  if (value < __ldcg(shared)) {
    atomicMin(shared, value);
  }
#else
  const std::atomic_ref<std::uint64_t> shared(word);
  std::uint64_t seen = shared.load(std::memory_order_relaxed);
  while (value < seen && !shared.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
#endif
}

}  // namespace gcoord
