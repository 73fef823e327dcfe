#include "server/resident/node/launch.h"

#include "server/device_turn/kernels.cuh"

namespace gcoord::server {

cudaError_t load_resident_kernels() {
  return load_persistent_kernels<LockTurnService>();
}

cudaError_t resident_blocks_max(std::uint32_t block_stripes, std::uint32_t& blocks) {
  return turn_blocks_max<LockTurnService>(block_stripes, blocks);
}

std::uint32_t resident_blocks(const TurnShape& shape) {
  return turn_blocks_of(shape);
}

cudaError_t launch_resident_rows(const ResidentView& node, cudaStream_t stream) {
  return launch_start(node, stream);
}

cudaError_t launch_resident(const ResidentView& node,
                            const TurnTiming& timing,
                            cudaStream_t stream) {
  return launch_persistent(node, timing, stream);
}

}  // namespace gcoord::server
