#include "common/device/device_errors.h"
#include "consensus/device/stepper_cuda.h"

namespace gcoord::consensus {

Result<std::unique_ptr<StepDevice>> open_cuda_device(const CudaStepperOptions& options) {
  return Status{StatusCode::Unavailable,
                "cuda:" + std::to_string(options.device) + " was requested of a build without CUDA",
                kDeviceBuild};
}

Result<std::unique_ptr<Stepper>> make_cuda_stepper(const CudaStepperOptions& options) {
  return open_cuda_device(options).status();
}

std::uint32_t cuda_device_count() {
  return 0;
}

}  // namespace gcoord::consensus
