#include "server/resident/node/launch.h"

#include "server/resident/node/launch_of.cuh"

namespace gcoord::server {

const ResidentKernels& resident_kernels(std::uint32_t voters) {
  static constexpr ResidentKernels kThree = kernels_for<LockTurnService>();
  return voters == 5   ? resident_kernels_of_five()
         : voters == 7 ? resident_kernels_of_seven()
                       : kThree;
}

std::uint32_t resident_blocks(const TurnShape& shape) {
  return turn_blocks_of(shape);
}

}  // namespace gcoord::server
