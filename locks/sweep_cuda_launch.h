// The kernels behind SweepDevice on a GPU, as functions that host code can call.
//
// Asynchronous, on the default stream; all pointers inside the views are device memory, but for
// DueScan::host_found. Errors of a launch are found by the next synchronize_device.
#pragma once

#include "locks/sweep_device.h"

namespace gcoord::locks {

void launch_renew(const RenewBatch& batch);
void launch_scan_due(const DueScan& scan);
void launch_take_due(const DueTake& take);
void launch_begin_graph(const WaitGraph& graph);
void launch_prune_graph(const WaitGraph& graph);
void launch_find_cycles(const WaitGraph& graph);

}  // namespace gcoord::locks
