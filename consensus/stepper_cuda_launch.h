// The kernel behind the CUDA stepper, as a function that host code can call.
//
// Asynchronous, on the default stream; all pointers inside the views are device memory. Errors of
// the launch are found by the next synchronize_device.
#pragma once

#include "consensus/packed_step.h"

namespace gcoord::consensus {

// Steps every row of the batch; `input` is one StepInput whose peers are on the device too.
void launch_packed_steps(const PackedTable& table,
                         const PackedBatch& batch,
                         const StepInput* input);

}  // namespace gcoord::consensus
