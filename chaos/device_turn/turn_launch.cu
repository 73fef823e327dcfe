#include "chaos/device_turn/turn_launch.h"

#include "server/device_turn/kernels.cuh"

namespace gcoord::chaos {

cudaError_t load_turns() {
  const cudaError_t code = server::load_persistent_kernels<CountingService>();
  return code == cudaSuccess ? load_single_turns() : code;
}

cudaError_t turn_blocks(std::uint32_t block_stripes, std::uint32_t& blocks) {
  return server::turn_blocks_max<CountingService>(block_stripes, blocks);
}

std::uint32_t node_blocks(const server::TurnShape& shape) {
  return server::turn_blocks_of(shape);
}

cudaError_t launch_rows(const CountingNode& node, cudaStream_t stream) {
  return server::launch_start(node, stream);
}

cudaError_t launch_node(const CountingNode& node,
                        const server::TurnTiming& timing,
                        cudaStream_t stream) {
  return server::launch_persistent(node, timing, stream);
}

}  // namespace gcoord::chaos
