// Waits for what was asked of a CUDA stream, and never for longer than a limit.
//
// cudaEventSynchronize has no limit, and a thread that waits in it for a kernel that does not end
// can do nothing else any more. Looks without a pause at first, because most kernels are short,
// then with pauses. What a kernel wrote to mapped host memory is visible to the host once the event
// behind it is complete (CUDA Programming Guide, section on mapped memory), which is the
// observation that the loads after a wait pair with. Host only; for the few files that call the
// runtime.
#pragma once

#include "common/cuda_status.h"
#include "common/device_errors.h"
#include "common/status.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <ctime>
#include <functional>
#include <string>

namespace gcoord {

struct CudaWait {
  std::string what;  // For the operator: "cuda:0: a batch of steps".
  std::uint32_t limit_ms = 0;
};

// DeadlineExceeded (kDeviceOverrun): not done within the limit. `clock_us` tells the time; without
// one the pauses are counted. Looks before it asks for the time: whoever was paused itself finds
// the work done.
inline Status wait_for_event(cudaEvent_t done,
                             const CudaWait& wait,
                             const std::function<std::uint64_t()>& clock_us) {
  constexpr std::uint32_t kSpinLooks = 500;  // Each about a microsecond: longer than a batch takes.
  constexpr std::uint32_t kPauseNs = 50'000;
  constexpr std::uint32_t kPausesPerMs = 1'000'000 / kPauseNs;
  const std::uint64_t looks = kSpinLooks + std::uint64_t{wait.limit_ms} * kPausesPerMs;
  const std::uint64_t end_us = clock_us ? clock_us() + std::uint64_t{wait.limit_ms} * 1000 : 0;
  for (std::uint64_t look = 0; look < looks; ++look) {
    const bool late = clock_us && look >= kSpinLooks && clock_us() >= end_us;
    const cudaError_t answer = cudaEventQuery(done);
    if (answer != cudaErrorNotReady) {
      return cuda_status(wait.what, answer);
    }
    if (late) {
      break;
    }
    if (look >= kSpinLooks) {
      const timespec pause{0, kPauseNs};
      ::nanosleep(&pause, nullptr);
    }
  }
  return {StatusCode::DeadlineExceeded,
          wait.what + " did not end within " + std::to_string(wait.limit_ms) + " ms",
          kDeviceOverrun};
}

}  // namespace gcoord
