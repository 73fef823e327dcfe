#include "server/resident/node/launch.h"
#include "server/resident/node/launch_of.cuh"

namespace gcoord::server {

const ResidentKernels& resident_kernels_of_five() {
  static constexpr ResidentKernels kKernels = kernels_for<ServiceOfVoters<LockTurnService, 5>>();
  return kKernels;
}

}  // namespace gcoord::server
