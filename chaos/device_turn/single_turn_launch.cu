#include "chaos/device_turn/turn_launch.h"
#include "server/device_turn/kernels.cuh"

namespace gcoord::chaos {

cudaError_t load_single_turns() {
  return server::load_single_turn_kernels<CountingService>();
}

cudaError_t launch_one_turn(const CountingNode& node,
                            const server::TurnTiming& timing,
                            cudaStream_t stream) {
  return server::launch_turn(node, timing, stream);
}

}  // namespace gcoord::chaos
