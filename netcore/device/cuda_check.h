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

#include "common/device/cuda_status.h"
#include "common/device/cuda_wait.h"

#include <cstdint>
#include <string>

namespace gcoord::netcore {

// `call` is the text of the call, for the message.
inline Status cuda_status(cudaError_t code, const char* call) {
  return gcoord::cuda_status(call, code);
}

// Waits until everything asked of the stream so far is done, and tells its failure, as
// wait_for_cuda(). `what` names the work for the operator.
inline Status wait_for_stream(cudaStream_t stream, std::uint32_t limit_ms, const char* what) {
  return wait_for_cuda({.what = what, .limit_ms = limit_ms}, kCopyPace, steady_now_us, [stream] {
    return cudaStreamQuery(stream);
  });
}

}  // namespace gcoord::netcore

// GCOORD_CUDA_TRY(cudaSetDevice(0)): returns the failure to the caller, if any.
#define GCOORD_CUDA_TRY(call) GCOORD_TRY_STATUS(::gcoord::netcore::cuda_status((call), #call))
