#include "common/device/device_arena.h"

#include "common/device/cuda_status.h"
#include "common/device/cuda_wait.h"
#include "common/device/staged_copy.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace gcoord {
namespace {

// What the copies of this process share. Never freed: a device may write there until the end.
struct DeviceCopies {
  std::mutex mutex;               // Guards `staging`, and what is in it during a copy.
  void* staging = nullptr;        // Page-locked, for all devices.
  std::atomic<bool> lost{false};  // A wait ended without the device.
  std::function<std::uint64_t()> now_us = steady_now_us;
};

DeviceCopies& copies() {
  static auto* const shared = new DeviceCopies;
  return *shared;
}

Status lost(const char* what) {
  return {StatusCode::DeadlineExceeded,
          std::string("CUDA: ") + what + ": a device did not end its work in time before",
          kDeviceOverrun};
}

// Waits for the default stream of the present device.
Status wait_for_device_work(const char* what, std::uint32_t limit_ms, const DevicePace& pace) {
  const CudaWait wait{.what = std::string("CUDA: ") + what, .limit_ms = limit_ms};
  const Status ended =
      wait_for_cuda(wait, pace, copies().now_us, [] { return cudaStreamQuery(nullptr); });
  if (ended.detail() == kDeviceOverrun) {
    copies().lost = true;
  }
  return ended;
}

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
  if (!copies().lost) {  // It would wait for what does not end.
    cudaFree(base());
  }
}

namespace {

// With the mutex.
Status reserve_staging() {
  return copies().staging != nullptr
             ? Status{}
             : check("reserving memory for copies",
                     cudaHostAlloc(&copies().staging, kCopyStagingBytes, cudaHostAllocPortable));
}

// Calls copy(staged, one) with `staged` the way through page-locked memory, and one(to, from,
// bytes) a copy of one piece. With the mutex held: the memory is one for all.
template <typename Copy>
Status copy_staged(const char* what, cudaMemcpyKind direction, const Copy& copy) {
  const std::lock_guard lock(copies().mutex);
  if (copies().lost) {
    return lost(what);
  }
  GCOORD_TRY_STATUS(reserve_staging());
  const StagedCopy staged({static_cast<std::byte*>(copies().staging), kCopyStagingBytes});
  return copy(staged, [what, direction](void* to, const void* from, std::size_t bytes) {
    GCOORD_TRY_STATUS(check(what, cudaMemcpyAsync(to, from, bytes, direction, nullptr)));
    return wait_for_device_work(what, kDeviceWaitMs, kCopyPace);
  });
}

}  // namespace

Status prepare_device_copies() {
  const std::lock_guard lock(copies().mutex);
  return reserve_staging();
}

Status copy_bytes_to_device(void* to, const void* from, std::size_t bytes) {
  return copy_staged("copying to the device",
                     cudaMemcpyHostToDevice,
                     [&](const StagedCopy& staged, const auto& one) {
                       return staged.write(to, from, bytes, one);
                     });
}

Status copy_bytes_to_host(void* to, const void* from, std::size_t bytes) {
  return copy_staged(
      "copying from the device",
      cudaMemcpyDeviceToHost,
      [&](const StagedCopy& staged, const auto& one) { return staged.read(to, from, bytes, one); });
}

Status synchronize_device(const char* what, std::uint32_t limit_ms) {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
    return check(what, error);
  }
  return copies().lost ? lost(what) : wait_for_device_work(what, limit_ms, kBatchPace);
}

void reset_device_waits(std::function<std::uint64_t()> now_us) {
  copies().lost = false;
  copies().now_us = now_us ? std::move(now_us) : steady_now_us;
}

}  // namespace gcoord
