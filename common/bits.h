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

// The bits below bit i, and those up to it; i < 32.
GCOORD_HD inline std::uint32_t bits_below(std::uint32_t i) {
  return (1u << i) - 1;
}

GCOORD_HD inline std::uint32_t bits_through(std::uint32_t i) {
  return (2u << i) - 1;
}

// The lowest `count` bits; count <= 32.
GCOORD_HD inline std::uint32_t bits_first(std::uint32_t count) {
  return count == 32 ? ~0u : bits_below(count);
}

// The number of the set bit that has n set ones below it; more than n are set.
GCOORD_HD inline std::uint32_t nth_bit(std::uint32_t word, std::uint32_t n) {
  std::uint32_t place = 0;
  GCOORD_UNROLL
  for (std::uint32_t width = 16; width > 0; width /= 2) {
    const std::uint32_t low = count_bits(word & bits_below(width));
    const bool above = n >= low;
    n -= above ? low : 0;
    place += above ? width : 0;
    word = above ? word >> width : word;
  }
  return place;
}

}  // namespace gcoord
