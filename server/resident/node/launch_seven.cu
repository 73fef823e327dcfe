#include "server/resident/node/launch.h"
#include "server/resident/node/launch_of.cuh"

namespace gcoord::server {

const ResidentKernels& resident_kernels_of_seven() {
  static constexpr ResidentKernels kKernels = kernels_for<ServiceOfVoters<LockTurnService, 7>>();
  return kKernels;
}

}  // namespace gcoord::server
