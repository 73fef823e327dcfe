// The kernels of device_turn_kernels.cuh for the counting service, as functions that host code can
// call. CUDA builds only; contracts are there. Two .cu files, since each kernel that turns takes
// minutes to compile.
#pragma once

#include "chaos/device_turn/counting_node.h"
#include "server/device_turn/clock.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gcoord::chaos {

cudaError_t load_turns();         // All of them;
cudaError_t load_single_turns();  // of launch_one_turn() alone.
cudaError_t turn_blocks(std::uint32_t block_stripes, std::uint32_t& blocks);
// Blocks of a node's persistent kernel, its clock's included.
std::uint32_t node_blocks(const server::TurnShape& shape);
cudaError_t launch_rows(const CountingNode& node, cudaStream_t stream);
cudaError_t launch_node(const CountingNode& node,
                        const server::TurnTiming& timing,
                        cudaStream_t stream);
cudaError_t launch_one_turn(const CountingNode& node,
                            const server::TurnTiming& timing,
                            cudaStream_t stream);

}  // namespace gcoord::chaos
