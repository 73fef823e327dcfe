// The probes of channel_probe.h as kernels: one warp per lane end. CUDA builds only.
//
// launch_probe() only enqueues; the kernel ends by itself, at the latest at its deadline. Pointers
// in the work are visible to the device. Callers use channel_probe_job.h. Host only.
#pragma once

#include "netcore/probe/channel_probe.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gcoord::netcore {

// Where the warps of a probe go. Fewer warps per block spread lanes over more multiprocessors.
struct ProbeGrid {
  std::uint32_t warps_per_block = 4;
  cudaStream_t stream = nullptr;
};

// Loads all probes onto the current device, before the first of them runs. CUDA loads a kernel when
// it is first launched, and that may wait for the kernels that run: a sender that waits for its
// receiver's kernel to end waits for ever.
cudaError_t load_probes();

// On the current device. CUDA's answer to the launch; what the kernel met is in its results.
cudaError_t launch_probe(const ProbeWork& work, const ProbeGrid& grid);

}  // namespace gcoord::netcore
