// The GPUs of this machine, and why there is none: the only door to the CUDA runtime of this
// folder.
//
// A build without CUDA has the same functions, which say so. Nothing here or behind it aborts when
// a driver, a device or its memory is missing: the answer is a Status with one clear line, and the
// owner takes the CPU or refuses. Host only.
#pragma once

#include "common/status.h"
#include "netcore/memory/registry.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace gcoord::netcore {

struct GpuFacts {
  std::uint32_t index = 0;  // N of cuda:N, among the devices that this process sees.
  std::string name;         // "NVIDIA H200".
  std::array<std::uint8_t, 16> uuid{};
  std::uint32_t multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
  bool shares_by_fd = false;  // Memory can be exported as a POSIX file descriptor.
};

// How many devices there are. Unavailable, with the reason: no build, no driver, no device.
Result<std::uint32_t> gpu_count();

// Facts about device `index`, without taking memory on it.
Result<GpuFacts> gpu_facts(std::uint32_t index);

// The index of the device with this uuid, if this process sees it.
Result<std::uint32_t> gpu_by_uuid(const std::array<std::uint8_t, 16>& uuid);

// Can kernels on `device` store into memory of `peer`? The text says why not.
Status gpu_reaches(std::uint32_t device, std::uint32_t peer);

// Do kernels on `device` change words in memory of `peer` whole (compare-and-swap, add), also when
// others change them meanwhile? Over NVLink they do; over PCIe they may only store.
Status gpu_atomics_reach(std::uint32_t device, std::uint32_t peer);

// The same of kernels on `device` and threads of this host, about page-locked host memory.
Status gpu_host_atomics(std::uint32_t device);

// Memory of device `index` for a registry: CUDA virtual memory management for Private and Shared,
// page-locked host memory for Pinned. Initialises the device's context.
Result<std::unique_ptr<MemorySource>> make_gpu_memory(std::uint32_t index);

// Closes this process's context on device `index`, with all memory and kernels there. Whoever has
// something there has let it go before. Other processes notice nothing.
Status close_gpu_context(std::uint32_t index);

// "cuda:3" -> 3; InvalidArgument with the right spelling otherwise.
Result<std::uint32_t> parse_gpu_name(const std::string& text);

}  // namespace gcoord::netcore
