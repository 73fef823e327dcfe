// The resident kernels of one number of voters, which the service's type carries; included by one
// .cu file for each. Host code of a CUDA build.
#pragma once

#include "server/device_turn/kernels.cuh"
#include "server/resident/node/launch.h"

#include <type_traits>

namespace gcoord::server {

// A node as the kernels of its number of voters name it.
template <typename Service>
TurnNode<Service> node_for(const ResidentView& node) {
  if constexpr (std::is_same_v<Service, LockTurnService>) {
    return node;
  } else {
    return as_node_of<kVotersOf<Service>>(node);
  }
}

template <typename Service>
cudaError_t launch_rows_of(const ResidentView& node, cudaStream_t stream) {
  return launch_start(node_for<Service>(node), stream);
}

template <typename Service>
cudaError_t launch_turn_of(const ResidentView& node,
                           const TurnTiming& timing,
                           cudaStream_t stream) {
  return launch_persistent(node_for<Service>(node), timing, stream);
}

template <typename Service>
constexpr ResidentKernels kernels_for() {
  return {.load = load_persistent_kernels<Service>,
          .blocks_max = turn_blocks_max<Service>,
          .launch_rows = launch_rows_of<Service>,
          .launch = launch_turn_of<Service>};
}

}  // namespace gcoord::server
