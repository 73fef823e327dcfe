// The Stepper over rows in the memory of a CUDA device (device_stepper.h).
//
// Contract: not thread-safe, and no signal to other processes of the same device. A wait for the
// device is bounded: a batch that has not ended after wait_limit_ms is a failure of the device. A
// binary of this starts without a CUDA driver; only opening needs one.
#pragma once

#include "common/device/device_calls.h"
#include "common/status.h"
#include "consensus/device/device_stepper.h"
#include "consensus/step/stepper.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace gcoord::consensus {

struct CudaStepperOptions {
  int device = 0;  // N of cuda:N.
  std::uint32_t row_count = 0;
  std::uint32_t slot_count = 0;
  // A batch takes far less than a millisecond, and a few of them where processes share a device in
  // slices of time. Two seconds are twice the default election timeout: other nodes lead by then.
  std::uint32_t wait_limit_ms = 2000;
  // Microseconds that only grow, for the limit. Empty: pauses of at least 50 us are counted
  // instead, so a wait lasts at least its limit, and twice as long on a kernel that rounds pauses
  // up.
  std::function<std::uint64_t()> clock_us;
  DeviceFaultPlan fault;
  std::uint32_t check_one_in = kDeviceCheckOneIn;  // As in device_stepper.h.
};

// The device alone, for a stepper of the caller's making. Failures as below.
Result<std::unique_ptr<StepDevice>> open_cuda_device(const CudaStepperOptions& options);

// Kernels are loaded and run once, so that the first step is as quick as the others. Failures name
// the reason in words and by number (common/device/device_errors.h).
Result<std::unique_ptr<Stepper>> make_cuda_stepper(const CudaStepperOptions& options);

// The same with everything else as it is by default.
inline Result<std::unique_ptr<Stepper>> make_cuda_stepper(int device,
                                                          std::uint32_t row_count,
                                                          std::uint32_t slot_count) {
  return make_cuda_stepper(
      CudaStepperOptions{.device = device, .row_count = row_count, .slot_count = slot_count});
}

// Devices that this process sees; 0 without a driver or in a build without CUDA.
std::uint32_t cuda_device_count();

}  // namespace gcoord::consensus
