#include "netcore/device/gpu_device.h"

#include "netcore/device/cuda_check.h"
#include "netcore/device/cuda_driver.h"

#include <algorithm>
#include <cstring>

namespace gcoord::netcore {

Result<std::uint32_t> gpu_count() {
  int count = 0;
  const cudaError_t code = taken(cudaGetDeviceCount(&count));
  if (code != cudaSuccess) {
    return Status{StatusCode::Unavailable,
                  std::string{"no GPU can be used here: "} + gcoord::cuda_words(code)};
  }
  if (count <= 0) {
    return Status{StatusCode::Unavailable, "the CUDA driver sees no device"};
  }
  return static_cast<std::uint32_t>(count);
}

Result<GpuFacts> gpu_facts(std::uint32_t index) {
  GCOORD_TRY(const std::uint32_t count, gpu_count());
  if (index >= count) {
    return Status{StatusCode::NotFound,
                  "there is no cuda:" + std::to_string(index) + "; this machine has " +
                      std::to_string(count) + " device(s)"};
  }
  cudaDeviceProp properties{};
  GCOORD_CUDA_TRY(cudaGetDeviceProperties(&properties, static_cast<int>(index)));
  GCOORD_TRY(const CudaDriver* driver, cuda_driver());
  int shares = 0;
  const CUresult asked =
      driver->device_get_attribute(&shares,
                                   CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                                   static_cast<CUdevice>(index));
  GCOORD_TRY_STATUS(driver_status(*driver, asked, "cuDeviceGetAttribute"));
  GpuFacts facts;
  facts.index = index;
  facts.name = properties.name;
  static_assert(sizeof(properties.uuid) == sizeof(facts.uuid));
  std::memcpy(facts.uuid.data(), &properties.uuid, facts.uuid.size());
  facts.multiprocessors = static_cast<std::uint32_t>(properties.multiProcessorCount);
  facts.memory_bytes = properties.totalGlobalMem;
  facts.shares_by_fd = shares != 0;
  return facts;
}

Status close_gpu_context(std::uint32_t index) {
  GCOORD_CUDA_TRY(cudaSetDevice(static_cast<int>(index)));
  GCOORD_CUDA_TRY(cudaDeviceReset());
  return {};
}

Result<std::uint32_t> gpu_by_uuid(const std::array<std::uint8_t, 16>& uuid) {
  GCOORD_TRY(const std::uint32_t count, gpu_count());
  for (std::uint32_t index = 0; index < count; ++index) {
    GCOORD_TRY(const GpuFacts facts, gpu_facts(index));
    if (facts.uuid == uuid) {
      return index;
    }
  }
  return Status{StatusCode::NotFound, "the peer's device is not visible to this process"};
}

Status gpu_reaches(std::uint32_t device, std::uint32_t peer) {
  if (device == peer) {
    return {};
  }
  int reaches = 0;
  GCOORD_CUDA_TRY(
      cudaDeviceCanAccessPeer(&reaches, static_cast<int>(device), static_cast<int>(peer)));
  if (reaches == 0) {
    return {
        StatusCode::FailedPrecondition,
        "cuda:" + std::to_string(device) + " has no peer access to cuda:" + std::to_string(peer)};
  }
  return {};
}

Status gpu_atomics_reach(std::uint32_t device, std::uint32_t peer) {
  if (device == peer) {
    return {};
  }
  GCOORD_TRY_STATUS(gpu_reaches(device, peer));
  int is_native = 0;
  GCOORD_CUDA_TRY(cudaDeviceGetP2PAttribute(&is_native,
                                            cudaDevP2PAttrNativeAtomicSupported,
                                            static_cast<int>(device),
                                            static_cast<int>(peer)));
  if (is_native == 0) {
    return {StatusCode::FailedPrecondition,
            "cuda:" + std::to_string(device) + " has no native atomics on memory of cuda:" +
                std::to_string(peer) + "; they are not joined by NVLink"};
  }
  return {};
}

Status gpu_host_atomics(std::uint32_t device) {
  int is_native = 0;
  GCOORD_CUDA_TRY(cudaDeviceGetAttribute(
      &is_native, cudaDevAttrHostNativeAtomicSupported, static_cast<int>(device)));
  if (is_native == 0) {
    return {StatusCode::FailedPrecondition,
            "cuda:" + std::to_string(device) +
                " and this host have no native atomics on each "
                "other's memory; PCIe has none"};
  }
  return {};
}

}  // namespace gcoord::netcore
