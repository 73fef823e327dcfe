#include "tests/common/stub_cuda.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace gcoord {
namespace {

cudaError_t remember(cudaError_t error) {
  stub_cuda().last_error = error == cudaSuccess ? stub_cuda().last_error : error;
  return error;
}

bool is_locked(const void* place, std::size_t bytes) {
  const auto& locked = stub_cuda().locked;
  return std::ranges::any_of(locked, [=](const auto& range) {
    const auto* const first = static_cast<const std::byte*>(range.first);
    const auto* const at = static_cast<const std::byte*>(place);
    return first <= at && at + bytes <= first + range.second;
  });
}

cudaError_t reserve(void** place, std::size_t bytes) {
  if (stub_cuda().full) {
    return remember(cudaErrorMemoryAllocation);
  }
  ++stub_cuda().reservations;
  *place = std::malloc(bytes);
  return cudaSuccess;
}

cudaError_t give_back(void* place) {
  ++stub_cuda().given_back;
  stub_cuda().locked.erase(place);
  std::free(place);
  return cudaSuccess;
}

// Of the device's work so far: once not yet, so that whoever waits has met that, and then done.
cudaError_t ask() {
  stub_cuda().asked_before = !stub_cuda().asked_before;
  return remember(stub_cuda().dead || stub_cuda().asked_before ? cudaErrorNotReady : cudaSuccess);
}

}  // namespace

StubCuda& stub_cuda() {
  static StubCuda runtime;
  return runtime;
}

}  // namespace gcoord

using gcoord::stub_cuda;

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int /*device*/) {
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int /*device*/) {
  *properties = {};
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13'000;
  return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t /*error*/) {
  return "an error of the stub";
}

cudaError_t cudaGetLastError() {
  return std::exchange(stub_cuda().last_error, cudaSuccess);
}

cudaError_t cudaMalloc(void** place, std::size_t bytes) {
  return gcoord::reserve(place, bytes);
}

cudaError_t cudaFree(void* place) {
  return gcoord::give_back(place);
}

cudaError_t cudaHostAlloc(void** place, std::size_t bytes, unsigned int /*flags*/) {
  const cudaError_t reserved = gcoord::reserve(place, bytes);
  if (reserved == cudaSuccess) {
    stub_cuda().locked[*place] = bytes;
  }
  return reserved;
}

cudaError_t cudaFreeHost(void* place) {
  return gcoord::give_back(place);
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* all_bytes) {
  *free_bytes = *all_bytes = 0;
  return cudaSuccess;
}

cudaError_t cudaMemset(void* place, int value, std::size_t bytes) {
  std::memset(place, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t /*stream*/) {
  const void* const here = kind == cudaMemcpyHostToDevice ? from : to;
  stub_cuda().pageable_copies += gcoord::is_locked(here, bytes) ? 0 : 1;
  stub_cuda().copy_bytes_longest = std::max(stub_cuda().copy_bytes_longest, bytes);
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int /*flags*/) {
  *stream = reinterpret_cast<cudaStream_t>(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t /*stream*/) {
  ++stub_cuda().given_back;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int /*flags*/) {
  *event = reinterpret_cast<cudaEvent_t>(event);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t /*event*/) {
  ++stub_cuda().given_back;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t /*event*/, cudaStream_t /*stream*/) {
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t /*event*/) {
  return gcoord::ask();
}

cudaError_t cudaStreamQuery(cudaStream_t /*stream*/) {
  return gcoord::ask();
}
