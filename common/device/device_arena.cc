#include "common/device/device_arena.h"

#include "common/device/cuda_status.h"

namespace gcoord {
namespace {

Status check(const std::string& what, cudaError_t error) {
  return cuda_status("CUDA: " + what, error);
}

}  // namespace

Status probe_device(int device) {
  int count = 0;
  const cudaError_t error = taken(cudaGetDeviceCount(&count));
  if (error != cudaSuccess) {
    return Status{StatusCode::Unavailable,
                  std::string("no CUDA device can be used: ") + cuda_words(error)};
  }
  if (device < 0 || device >= count) {
    return Status{StatusCode::Unavailable,
                  "there is no cuda:" + std::to_string(device) + "; this machine has " +
                      std::to_string(count) + " CUDA devices"};
  }
  return check("choosing the device", cudaSetDevice(device));
}

std::string describe_device(int device) {
  cudaDeviceProp properties{};
  int driver = 0;
  if (!probe_device(device).ok() ||
      taken(cudaGetDeviceProperties(&properties, device)) != cudaSuccess ||
      taken(cudaDriverGetVersion(&driver)) != cudaSuccess) {
    return {};
  }
  return std::string(properties.name) + ", " + std::to_string(properties.totalGlobalMem >> 20) +
         " MiB, " + std::to_string(properties.multiProcessorCount) +
         " multiprocessors, CUDA driver " + std::to_string(driver / 1000) + "." +
         std::to_string(driver % 1000 / 10);
}

Result<std::unique_ptr<DeviceArena>> DeviceArena::make(int device, std::size_t capacity_bytes) {
  if (const Status status = probe_device(device); !status.ok()) {
    return status;
  }
  void* base = nullptr;
  const cudaError_t error = taken(cudaMalloc(&base, capacity_bytes));
  if (error == cudaErrorMemoryAllocation) {
    std::size_t free_bytes = 0;
    std::size_t all_bytes = 0;
    (void)taken(cudaMemGetInfo(&free_bytes, &all_bytes));  // The device is fine, only full.
    return Status{StatusCode::ResourceExhausted,
                  "cuda:" + std::to_string(device) + " has " + std::to_string(free_bytes >> 20) +
                      " MiB free, " + std::to_string(capacity_bytes >> 20) + " MiB are needed"};
  }
  if (error != cudaSuccess) {
    return check("allocating memory", error);
  }
  std::unique_ptr<DeviceArena> arena(
      new DeviceArena(static_cast<std::byte*>(base), capacity_bytes));
  if (const cudaError_t filled = cudaMemset(base, 0, capacity_bytes); filled != cudaSuccess) {
    return check("zeroing memory", filled);
  }
  return arena;
}

DeviceArena::~DeviceArena() {
  cudaFree(base());
}

Status copy_bytes_to_device(void* to, const void* from, std::size_t bytes) {
  return check("copying to the device", cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
}

Status copy_bytes_to_host(void* to, const void* from, std::size_t bytes) {
  return check("copying from the device", cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

Status copy_bytes_on_device(void* to, const void* from, std::size_t bytes) {
  const Status copied =
      check("copying on the device", cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice));
  return copied.ok() ? synchronize_device("copying on the device") : copied;
}

Status synchronize_device(const char* what) {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
    return check(what, error);
  }
  return check(what, cudaDeviceSynchronize());
}

}  // namespace gcoord
