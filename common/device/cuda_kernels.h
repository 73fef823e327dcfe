// Kernels loaded before they are first launched. Host only; for `.cu` files.
//
// CUDA loads a kernel at its first launch, and loading waits for the device to be idle: behind a
// resident kernel, for ever. So what will run beside one is loaded before it starts.
#pragma once

#include <cuda_runtime_api.h>

#include <initializer_list>

namespace gcoord {

// Loads kernels, given by their addresses, onto the current device; the first error ends it.
inline cudaError_t load_kernels(std::initializer_list<const void*> kernels) {
  for (const void* kernel : kernels) {
    cudaFuncAttributes loaded{};
    const cudaError_t code = cudaFuncGetAttributes(&loaded, kernel);
    if (code != cudaSuccess) {
      return code;
    }
  }
  return cudaSuccess;
}

}  // namespace gcoord
