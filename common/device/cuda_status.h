// CUDA's answers as Status, with the stable number of the reason. Host only; for the few files that
// call the runtime.
//
// The runtime also remembers the last error of a thread until somebody asks for it, which those do
// who launch a kernel. So an error that is told here is taken from it: one that is dealt with, as
// of a device that is full, is not found again at a launch that is in order.
//
// CUDA reports an asynchronous error of a kernel at whatever call comes next, so a failure that is
// none of absence, memory and exclusive use says that something failed before or in this call.
#pragma once

#include "common/device/device_errors.h"
#include "common/status.h"

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

namespace gcoord {

// What a call answered; the runtime remembers no error any more.
inline cudaError_t taken(cudaError_t answer) {
  if (answer != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
  }
  return answer;
}

// CUDA's own words, but for a machine without a driver, which CUDA calls an old one.
inline std::string cuda_words(cudaError_t error) {
  int version = 0;
  if (error == cudaErrorInsufficientDriver && cudaDriverGetVersion(&version) == cudaSuccess &&
      version == 0) {
    return "there is no CUDA driver here";
  }
  return cudaGetErrorString(error);
}

// `what` names the work for the operator: "allocating memory".
inline Status cuda_status(std::string_view what, cudaError_t error) {
  const auto status = [&](StatusCode code, std::uint32_t detail) {
    return Status{code, std::string(what) + ": " + cuda_words(error), detail};
  };
  switch (taken(error)) {
    case cudaSuccess:
      return {};
    case cudaErrorMemoryAllocation:
      return status(StatusCode::ResourceExhausted, kDeviceMemory);
    case cudaErrorDevicesUnavailable:
    case cudaErrorDeviceAlreadyInUse:
      return status(StatusCode::Unavailable, kDeviceBusy);
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInvalidDevice:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorSystemNotReady:
    case cudaErrorCompatNotSupportedOnDevice:
      return status(StatusCode::Unavailable, kDeviceAbsent);
    default:
      return status(StatusCode::Internal, kDeviceFailed);
  }
}

}  // namespace gcoord
