// Questions about the bits of a word, with one answer on every compiler. Pure; host and device.
#pragma once

#include "common/hd.h"

#include <cstdint>

namespace gcoord {

// The number of the lowest bit that is set; the word is not 0.
GCOORD_HD inline std::uint32_t lowest_bit(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__ffs(static_cast<int>(word))) - 1;
#else
  return static_cast<std::uint32_t>(__builtin_ctz(word));
#endif
}

// The number of the highest bit that is set; the word is not 0.
GCOORD_HD inline std::uint32_t highest_bit(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return 31 - static_cast<std::uint32_t>(__clz(static_cast<int>(word)));
#else
  return 31 - static_cast<std::uint32_t>(__builtin_clz(word));
#endif
}

// How many bits are set.
GCOORD_HD inline std::uint32_t count_bits(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__popc(word));
#else
  return static_cast<std::uint32_t>(__builtin_popcount(word));
#endif
}

}  // namespace gcoord
