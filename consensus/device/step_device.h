// Device interface of a device stepper: memory, copies, and a step that ends in bounded time.
//
// Why an interface: the logic around the device (staging, the host's mirror, faults) is then the
// same over CUDA and over the stand-in of tests, which runs the same step in host memory. Contract:
// one thread. Every function returns its failures; after one the device is not called again
// (common/device/device_calls.h). The destructor gives the memory back, unless a call failed: then
// the device may still be at work, and only the end of the process frees it.
#pragma once

#include "common/device/device_calls.h"
#include "common/status.h"
#include "consensus/device/staged_step.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace gcoord::consensus {

// Sizes of the regions that one stepper needs for its life, in bytes.
struct StepMemorySizes {
  std::size_t rows = 0;     // Device memory; zero-filled.
  std::size_t pool = 0;     // The same; the first pool of wide rows, which can be replaced.
  std::size_t staged = 0;   // Twice: page-locked on the host, and on the device.
  std::size_t stepped = 0;  // Twice: the same.
  std::size_t pushed = 0;   // Page-locked host memory that the device writes.

  // Of the device.
  std::size_t device_bytes() const { return rows + pool + staged + stepped; }
};

// The regions. Rows and pool are aligned for columns (128 bytes), the others for messages (16
// bytes).
struct StepMemory {
  std::byte* rows = nullptr;
  std::byte* pool = nullptr;
  std::byte* staged_host = nullptr;
  std::byte* staged_device = nullptr;
  std::byte* stepped_host = nullptr;
  std::byte* stepped_device = nullptr;
  std::byte* pushed_host = nullptr;
  std::byte* pushed_device = nullptr;  // The same memory, as the device addresses it.
};

// How large a pool is to be, in bytes: as `wanted`, or if the device has no room for that, as
// `needed`.
struct PoolSizes {
  std::size_t wanted = 0;
  std::size_t needed = 0;
};

struct PoolRegion {
  std::byte* start = nullptr;
  std::size_t bytes = 0;  // One of the two.
};

// One launch: staged_bytes go over, the batch is stepped, stepped_bytes come back.
struct StepCall {
  PackedTable table;
  StagedBatch batch;
  StepInput input;  // Its peers lie in the staged region, on the device.
  std::size_t staged_bytes = 0;
  std::size_t stepped_bytes = 0;
};

class StepDevice {
 public:
  virtual ~StepDevice() = default;

  // Once. ResourceExhausted (kDeviceMemory): too little memory; the text says how much there is.
  virtual Result<StepMemory> allocate(const StepMemorySizes& sizes) = 0;

  // Gives the pool back and allocates another one, of which the content is not defined: at no time
  // is there memory for both. ResourceExhausted (kDeviceMemory): not even what is needed; the text
  // says how much there is.
  virtual Result<PoolRegion> replace_pool(const PoolSizes& sizes) = 0;

  // Copies into device memory, and waits.
  virtual Status upload(void* to, const void* from, std::size_t bytes) = 0;

  // Runs one call to its end. DeadlineExceeded (kDeviceOverrun): it did not end in time.
  virtual Status step(const StepCall& call) = 0;

  // The same for a sweep.
  virtual Status sweep(const SweepCall& call) = 0;

  // A door for tests: from now on, with numbers that count from now on.
  virtual void inject(DeviceFaultPlan plan) = 0;

  // "cuda:0", and the device's own name.
  virtual std::string name() const = 0;
  virtual std::string product() const = 0;

  virtual std::uint64_t launches() const = 0;
};

}  // namespace gcoord::consensus
