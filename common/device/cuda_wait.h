// Waits for what was asked of a CUDA stream, and never for longer than a limit (device_wait.h).
//
// cudaEventSynchronize has no limit, and a thread that waits in it for a kernel that does not end
// can do nothing else any more. What a kernel wrote to mapped host memory is visible to the host
// once the event behind it is complete (CUDA Programming Guide, section on mapped memory), which is
// the observation that the loads after a wait pair with. "Not ready" is remembered as if it were an
// error, and taken back here (cuda_status.h). Host only; for the few files that call the
// runtime.
#pragma once

#include "common/device/cuda_status.h"
#include "common/device/device_errors.h"
#include "common/device/device_wait.h"
#include "common/status.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>

namespace gcoord {

struct CudaWait {
  std::string what;  // For the operator: "cuda:0: a batch of steps".
  std::uint32_t limit_ms = 0;
};

// Waits until `query()` has another answer than "not ready", and tells it. DeadlineExceeded
// (kDeviceOverrun): it had none within the limit; what was asked for may still end later, so
// nothing that it touches may be given back.
template <typename NowUs, typename Query>
Status wait_for_cuda(const CudaWait& wait,
                     const DevicePace& pace,
                     const NowUs& now_us,
                     const Query& query) {
  cudaError_t state = cudaErrorNotReady;
  const bool done = wait_for_device(wait.limit_ms, pace, now_us, [&] {
    state = taken(query());
    return state != cudaErrorNotReady;
  });
  if (done) {
    return cuda_status(wait.what, state);
  }
  return {StatusCode::DeadlineExceeded,
          wait.what + " did not end within " + std::to_string(wait.limit_ms) + " ms",
          kDeviceOverrun};
}

// Whether everything that was asked of the stream is done, or failed.
inline bool has_ended(cudaStream_t stream) {
  return taken(cudaStreamQuery(stream)) != cudaErrorNotReady;
}

// For what is as long as a batch. `clock_us` tells the time; without one the system does.
inline Status wait_for_event(cudaEvent_t done,
                             const CudaWait& wait,
                             const std::function<std::uint64_t()>& clock_us = {}) {
  const auto now_us = [&clock_us] { return clock_us ? clock_us() : steady_now_us(); };
  return wait_for_cuda(wait, kBatchPace, now_us, [done] { return cudaEventQuery(done); });
}

}  // namespace gcoord
