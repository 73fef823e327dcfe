// The kernels behind the CUDA stepper, as functions that host code can call.
//
// Asynchronous, on the given stream; all pointers inside a call are valid on the device. Errors of
// a launch are found by the next look at the runtime's last error.
#pragma once

#include "common/device/memory_device.h"
#include "common/hd.h"
#include "consensus/device/step_device.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gcoord::consensus {

// Steps every row of the call's batch.
void launch_staged_steps(const StepCall& call, cudaStream_t stream);

// Digests every row of the call; of no rows, it only loads the kernel.
void launch_sweep(const SweepCall& call, cudaStream_t stream);

// Flips a bit of the table that `seed` names: the fault of a plan.
void launch_flip(const PackedTable& table, std::uint64_t seed, cudaStream_t stream);

// The body of the kernel below: returns once so much time has gone by on the device's clock.
GCOORD_HD inline void hold_device(std::uint64_t hold_ns) {
  constexpr std::uint32_t kPauseNs = 1000;
  const std::uint64_t end_ns = device_now_ns() + hold_ns;
  while (device_now_ns() < end_ns) {
    device_pause(kPauseNs);
  }
}

// Keeps the device busy for so long and changes nothing: the overrun that a fault plan asks for. It
// ends by itself, so that a device shared with others comes free.
void launch_hold(std::uint64_t hold_ns, cudaStream_t stream);

}  // namespace gcoord::consensus
