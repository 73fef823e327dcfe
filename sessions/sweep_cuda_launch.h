// The kernels behind SweepDevice on a GPU, as functions that host code can call.
//
// Asynchronous, on the given stream; all pointers inside the views are device memory, but for
// DueScan::host_summary, which is page-locked memory of the host. Errors of a launch are found by
// the next look at the runtime's last error.
#pragma once

#include "sessions/sweep_device.h"

#include <cuda_runtime_api.h>

namespace gcoord::sessions {

void launch_renew(const RenewBatch& batch, cudaStream_t stream);
void launch_scan_due(const DueScan& scan, cudaStream_t stream);
void launch_take_due(const DueTake& take, cudaStream_t stream);
void launch_begin_graph(const WaitGraph& graph, cudaStream_t stream);
void launch_prune_graph(const WaitGraph& graph, cudaStream_t stream);
void launch_find_cycles(const WaitGraph& graph, cudaStream_t stream);

// Every kernel, over nothing.
void launch_nothing(cudaStream_t stream);

}  // namespace gcoord::sessions
