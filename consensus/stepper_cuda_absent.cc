#include "common/device_errors.h"
#include "consensus/stepper_cuda.h"

namespace gcoord::consensus {

Result<std::unique_ptr<Stepper>> make_cuda_stepper(const CudaStepperOptions& options) {
  return Status{StatusCode::Unavailable,
                "cuda:" + std::to_string(options.device) + " was asked of a build without CUDA",
                kDeviceBuild};
}

Result<std::unique_ptr<Stepper>> make_cuda_stepper(int device,
                                                   std::uint32_t row_count,
                                                   std::uint32_t slot_count) {
  return make_cuda_stepper(
      CudaStepperOptions{.device = device, .row_count = row_count, .slot_count = slot_count});
}

std::uint32_t cuda_device_count() {
  return 0;
}

}  // namespace gcoord::consensus
