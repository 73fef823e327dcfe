// Merkle trees in the memory of a GPU, hashed there.
//
// Plain device memory and kernels on the default stream. Errors as MerkleDevice says; a CUDA error
// is Internal with what failed. Host only.
#pragma once

#include "common/status.h"
#include "ledger/trees/device.h"

#include <memory>

namespace gcoord::ledger {

// Unavailable: no such device, or a build without CUDA.
Result<std::unique_ptr<MerkleDevice>> make_cuda_merkle_device(int device);

}  // namespace gcoord::ledger
