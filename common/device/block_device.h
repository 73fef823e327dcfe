// A block of threads that work on one thing together: on a device a block, on the host one thread.
//
// Code written against these functions runs unchanged in both places, as with a warp
// (common/device/warp_device.h): the host's block has one member. On a device all threads of a
// block call each function together, with converged control flow. Blocks are one-dimensional, whole
// warps, and of at most kBlockWarpsMax of them.
#pragma once

#include "common/device/warp_device.h"
#include "common/hd.h"

#include <cstdint>

namespace gcoord {

inline constexpr std::uint32_t kBlockWarpsMax = 32;

// Members of the block.
GCOORD_HD inline std::uint32_t block_threads() {
#if defined(__CUDA_ARCH__)
  return blockDim.x;
#else
  return 1;
#endif
}

// This thread's number in its block.
GCOORD_HD inline std::uint32_t block_rank() {
#if defined(__CUDA_ARCH__)
  return threadIdx.x;
#else
  return 0;
#endif
}

// What the threads of a block add up through; in memory that they share.
struct BlockSums {
  std::uint32_t of_warp[kBlockWarpsMax];
};

// The sum of the values of all threads below this one, and of all of them into `total`. What any
// thread wrote before is visible to all after.
GCOORD_HD inline std::uint32_t block_sum_below(std::uint32_t value,
                                               BlockSums& sums,
                                               std::uint32_t& total) {
  const std::uint32_t warp = block_rank() / warp_lanes();
  const std::uint32_t below = warp_sum_below(value);
  if (warp_rank() == warp_lanes() - 1) {
    sums.of_warp[warp] = below + value;
  }
  block_meet();
  std::uint32_t before = 0;
  total = 0;
  for (std::uint32_t w = 0; w < block_threads() / warp_lanes(); ++w) {
    before += w < warp ? sums.of_warp[w] : 0;
    total += sums.of_warp[w];
  }
  block_meet();
  return before + below;
}

}  // namespace gcoord
