// The kernels of device_turn_kernels.cuh for the lock service, as functions that host code can
// call: a set for each number of voters. CUDA builds only; contracts are there.
#pragma once

#include "server/device_turn/clock.h"
#include "server/resident/node/resident_view.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gcoord::server {

struct ResidentKernels {
  cudaError_t (*load)();
  cudaError_t (*blocks_max)(std::uint32_t block_stripes, std::uint32_t& blocks);
  cudaError_t (*launch_rows)(const ResidentView& node, cudaStream_t stream);
  cudaError_t (*launch)(const ResidentView& node, const TurnTiming& timing, cudaStream_t stream);
};

// Those of nodes with so many voters (has_turn_of).
const ResidentKernels& resident_kernels(std::uint32_t voters);

// Blocks of a node's persistent kernel, its clock's included.
std::uint32_t resident_blocks(const TurnShape& shape);

// Each in a file of its own, because a compiler takes minutes for one of them.
const ResidentKernels& resident_kernels_of_five();
const ResidentKernels& resident_kernels_of_seven();

}  // namespace gcoord::server
