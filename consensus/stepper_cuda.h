// The Stepper over rows in device memory.
//
// What: the same interface as the CPU stepper, with the state in a packed table on a device.
// Inboxes and outboxes are the caller's, in host memory, so every call copies them over and back
// and waits: right for tests, the step door and small clusters, and not the way to speed, which is
// to keep the messages on the device as well. The host keeps a mirror of all columns for
// `columns()`, refreshed row by row. What the host wrote before the first step (recovery) is taken
// over then. Contract: not thread-safe. A CUDA error during a step stops the process with one line
// on stderr: after it nothing in device memory can be trusted (fail-stop).
#pragma once

#include "common/status.h"
#include "consensus/stepper.h"

#include <cstdint>
#include <memory>

namespace gcoord::consensus {

// Unavailable: no such device, or a build without CUDA; ResourceExhausted: too little device
// memory. Either way one line that says what to do.
Result<std::unique_ptr<Stepper>> make_cuda_stepper(int device,
                                                   std::uint32_t row_count,
                                                   std::uint32_t slot_count);

}  // namespace gcoord::consensus
