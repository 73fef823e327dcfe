// The LockDevice of a GPU.
//
// What: plain device memory and one kernel per stage on the default stream, for LockParallel.
// Errors as LockDevice says; a CUDA error is Internal with what failed. Host only.
#pragma once

#include "common/status.h"
#include "locks/parallel/device.h"

#include <memory>

namespace gcoord::locks {

// Unavailable: no such device, or a build without CUDA.
Result<std::unique_ptr<LockDevice>> make_cuda_lock_device(int device);

}  // namespace gcoord::locks
