// The kernels of device_turn_kernels.cuh for the lock service, as functions that host code can
// call. CUDA builds only; contracts are there.
#pragma once

#include "server/device_turn/clock.h"
#include "server/resident/node/resident_view.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gcoord::server {

cudaError_t load_resident_kernels();
cudaError_t resident_blocks_max(std::uint32_t block_stripes, std::uint32_t& blocks);
// Blocks of a node's persistent kernel, its clock's included.
std::uint32_t resident_blocks(const TurnShape& shape);
cudaError_t launch_resident_rows(const ResidentView& node, cudaStream_t stream);
cudaError_t launch_resident(const ResidentView& node,
                            const TurnTiming& timing,
                            cudaStream_t stream);

}  // namespace gcoord::server
