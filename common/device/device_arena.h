// The device twin of ColumnArena: one allocation of device memory, carved into columns.
//
// What: plain device memory (cudaMalloc; never managed memory), zero-filled, that lives as long as
// the arena, and copies between it and the host. Why one allocation: what a node needs is written
// out as a sum before it starts, and a device without that much memory refuses then, not later.
// Contract: pointers are valid on the device only; the host passes them to kernels and to the
// copies below. Copies and `synchronize` block the calling thread and run on the default stream,
// ordered with all kernels launched on it. Every error is returned, never swallowed; after one,
// device memory is not to be trusted and the owner stops using it. Not thread-safe. This header
// needs no CUDA; only a build with it links the functions.
#pragma once

#include "common/region_arena.h"
#include "common/status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

namespace gcoord {

class DeviceArena : public RegionArena {
 public:
  // Reserves capacity_bytes on device `device`. Unavailable: no such device or driver;
  // ResourceExhausted: too little memory, and the message says how much there is.
  static Result<std::unique_ptr<DeviceArena>> make(int device, std::size_t capacity_bytes);
  ~DeviceArena();
  DeviceArena(const DeviceArena&) = delete;
  DeviceArena& operator=(const DeviceArena&) = delete;

 private:
  using RegionArena::RegionArena;
};

// Whether a device can be used, as one clear line if not. Ok for a device that answers.
Status probe_device(int device);

// Name, memory and driver of a device, for results and status; empty if it cannot be used.
std::string describe_device(int device);

// Blocking copies of whole elements.
Status copy_bytes_to_device(void* to, const void* from, std::size_t bytes);
Status copy_bytes_to_host(void* to, const void* from, std::size_t bytes);
// Between columns of one device that do not overlap.
Status copy_bytes_on_device(void* to, const void* from, std::size_t bytes);

template <typename T>
Status copy_to_device(T* to, const T* from, std::size_t element_count) {
  static_assert(std::is_trivially_copyable_v<T>);
  return copy_bytes_to_device(to, from, element_count * sizeof(T));
}

template <typename T>
Status copy_to_host(T* to, const T* from, std::size_t element_count) {
  static_assert(std::is_trivially_copyable_v<T>);
  return copy_bytes_to_host(to, from, element_count * sizeof(T));
}

// Waits for all kernels of the default stream; an error of any of them, or of a launch, is
// returned. `what` names the work in the message.
Status synchronize_device(const char* what);

}  // namespace gcoord
