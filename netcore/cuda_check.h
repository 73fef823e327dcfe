// CUDA's answers as Status: for the few host files that call the runtime. Host only.
//
// A text names the call and CUDA's own words; the code says whether trying elsewhere can help
// (Unavailable: no driver or device; ResourceExhausted: no memory; Internal: everything else, after
// which the device's context is not to be trusted).
//
// CUDA reports an asynchronous error of a kernel at whatever call comes next, so an Internal answer
// says that something failed before or in this call, not that this call is to blame. The owner
// stops the node or rebuilds the device's state from the log; it never retries.
#pragma once

#include "common/cuda_status.h"
#include "netcore/device_wait.h"

#include <cstdint>
#include <string>

namespace gcoord::netcore {

// `call` is the text of the call, for the message.
inline Status cuda_status(cudaError_t code, const char* call) {
  return gcoord::cuda_status(call, code);
}

// Waits until everything asked of the stream so far is done, and tells its failure. `what` names
// the work for the operator. DeadlineExceeded (kDeviceOverrun): it did not end within the limit; it
// may still end later, so nothing that it touches may be given back.
inline Status wait_for_stream(cudaStream_t stream, std::uint32_t limit_ms, const char* what) {
  cudaError_t state = cudaErrorNotReady;
  const bool done = wait_for_device(limit_ms, [&] {
    state = cudaStreamQuery(stream);
    return state != cudaErrorNotReady;
  });
  if (done) {
    return cuda_status(state, what);
  }
  static_cast<void>(cudaGetLastError());  // "Not ready" is remembered as if it were an error.
  return {StatusCode::DeadlineExceeded,
          std::string(what) + " did not end within " + std::to_string(limit_ms) + " ms",
          kDeviceOverrun};
}

}  // namespace gcoord::netcore

// GCOORD_CUDA_TRY(cudaSetDevice(0)): returns the failure to the caller, if any.
#define GCOORD_CUDA_TRY(call) GCOORD_TRY_STATUS(::gcoord::netcore::cuda_status((call), #call))
