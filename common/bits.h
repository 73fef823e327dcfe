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

}  // namespace gcoord
