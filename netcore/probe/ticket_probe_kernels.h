// The probe of ticket_probe.h as a kernel: a warp per group. CUDA builds only.
//
// launch_ticket_probe() only enqueues; the kernel ends by itself, at the latest at its deadline.
// Pointers in the work are visible to the device. Callers use ticket_probe_job.h. Host only.
#pragma once

#include "netcore/probe/ticket_probe.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gcoord::netcore {

// Who uses the lock: kernels of this device alone, or others as well.
enum class TicketScope : std::uint8_t { System, Device };

struct TicketProbeGrid {
  TicketScope scope = TicketScope::System;
  std::uint32_t warps_per_block = 1;
  cudaStream_t stream = nullptr;
};

// Loads the kernels onto the current device, before any of them runs: see load_probes().
cudaError_t load_ticket_probes();

// On the current device. CUDA's answer to the launch; what the kernel met is in its results.
cudaError_t launch_ticket_probe(const TicketProbeWork& work, const TicketProbeGrid& grid);

}  // namespace gcoord::netcore
