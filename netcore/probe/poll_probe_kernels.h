// The probes of poll_probe.h as kernels: a warp for each group, or one thread of a warp whose
// others have left. CUDA builds only.
//
// launch_poll_probe() only enqueues; the kernel ends by itself, at the latest at its deadline.
// Pointers in the work are visible to the device. Callers use poll_probe_job.h. Host only.
#pragma once

#include "netcore/probe/poll_probe.h"

#include <cuda_runtime_api.h>

namespace gcoord::netcore {

// Loads the kernels onto the current device, before any of them runs: see load_probes().
cudaError_t load_poll_probes();

// On the current device. CUDA's answer to the launch; what the kernel met is in its result.
cudaError_t launch_poll_probe(PollProbeKind kind, const PollProbeWork& work, cudaStream_t stream);

}  // namespace gcoord::netcore
