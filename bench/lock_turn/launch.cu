#include "bench/lock_turn/launch.h"

#include <cuda_runtime.h>

namespace gcoord::bench {
namespace {

constexpr std::uint32_t kWarpThreads = 32;
// As the blocks of a node's turn.
constexpr std::uint32_t kBlockStripes = 8;

__global__ void __launch_bounds__(kWarpThreads* kBlockStripes)
    apply_stripes_kernel(const __grid_constant__ LockTurnWork work) {
  const std::uint32_t stripe = blockIdx.x * kBlockStripes + threadIdx.x / kWarpThreads;
  if (stripe < work.stripe_count) {
    apply_stripe(work, stripe);
  }
}

}  // namespace

void launch_apply_stripes(const LockTurnWork& work) {
  const std::uint32_t blocks = (work.stripe_count + kBlockStripes - 1) / kBlockStripes;
  apply_stripes_kernel<<<blocks, kWarpThreads * kBlockStripes>>>(work);
}

}  // namespace gcoord::bench
