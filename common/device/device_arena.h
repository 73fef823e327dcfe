// The device twin of ColumnArena: one allocation of device memory, carved into columns.
//
// What: plain device memory (cudaMalloc; never managed memory), zero-filled, that lives as long as
// the arena, and copies between it and the host. Why one allocation: what a node needs is written
// out as a sum before it starts, and a device without that much memory refuses then, not later.
// Contract: pointers are valid on the device only; the host passes them to kernels and to the
// copies below. Copies and `synchronize` block the calling thread and run on the default stream,
// ordered with all kernels launched on it, and none blocks for longer than a limit: copies go piece
// by piece through page-locked memory that all threads of the process share (staged_copy.h). Every
// error is returned, never swallowed; after one, device memory is not to be trusted and the owner
// stops using it. After a wait that ended without the device (DeadlineExceeded, kDeviceOverrun) no
// copy is made any more and no arena gives its memory back, since the device may still be at work
// there; only the end of the process frees it. An arena is not thread-safe; copies are. This header
// needs no CUDA; only a build with it links the functions.
#pragma once

#include "common/region_arena.h"
#include "common/status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
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

// Reserves the memory that copies go through, so that no copy reserves any later; a copy before it
// does it itself. ResourceExhausted: the system locks no more memory.
Status prepare_device_copies();

// Blocking copies of whole elements. A piece that does not arrive within kDeviceWaitMs ends them.
Status copy_bytes_to_device(void* to, const void* from, std::size_t bytes);
Status copy_bytes_to_host(void* to, const void* from, std::size_t bytes);

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

// The longest that a kernel of the default stream takes: the first launch also loads it, for which
// a busy machine may take its time.
inline constexpr std::uint32_t kDeviceWorkMs = 30'000;

// Waits for all kernels of the default stream; an error of any of them, or of a launch, is
// returned. `what` names the work in the message.
Status synchronize_device(const char* what, std::uint32_t limit_ms = kDeviceWorkMs);

// For tests: the clock of those limits in place of the system's, and all as if no wait had failed.
void reset_device_waits(std::function<std::uint64_t()> now_us = {});

}  // namespace gcoord
