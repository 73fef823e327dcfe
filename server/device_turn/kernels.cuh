// The two drivers of a turn on a device as kernels, for any service; included by one .cu file per
// service and driver.
//
// A warp has a stripe. A block of the persistent kernel has as many as the shape says, its last
// block has the clock. Launches only enqueue, on the current device. The persistent kernel needs
// all of its blocks at once: ask turn_blocks_max() first. Load the kernels of a device before the
// first of them runs there (load_persistent_kernels): CUDA loads a kernel when it is first launched
// and may wait for those that run. Host code of a CUDA build.
#pragma once

#include "common/device/cuda_kernels.h"
#include "server/device_turn/loop.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace gcoord::server {

inline constexpr std::uint32_t kTurnThreads = 32;

constexpr std::uint32_t turn_blocks_of(const TurnShape& shape) {
  return (shape.stripe_count + shape.block_stripes - 1) / shape.block_stripes + 1;
}

template <typename Service>
constexpr std::size_t desk_bytes_of(const TurnShape& shape) {
  return shape.block_stripes * sizeof(WorkspaceFor<Service>);
}

template <typename Service>
__global__ void __launch_bounds__(kTurnThreads)
    start_node_kernel(const __grid_constant__ TurnNode<Service> node) {
  start_stripe(node, blockIdx.x);
}

// Its last block has the clock.
template <typename Service>
__global__ void __launch_bounds__(kTurnThreads* kBlockStripesMax, 1)
    persistent_turn_kernel(const __grid_constant__ TurnNode<Service> node,
                           const __grid_constant__ TurnTiming timing) {
  extern __shared__ __align__(128) std::byte desks[];
  const std::uint32_t warp = threadIdx.x / kTurnThreads;
  const std::uint32_t stripe = blockIdx.x * node.shape.block_stripes + warp;
  if (blockIdx.x == gridDim.x - 1) {
    if (warp == 0) {
      run_clock(node, timing);
    }
  } else if (stripe < node.shape.stripe_count) {
    run_stripe(node, timing, stripe, reinterpret_cast<WorkspaceFor<Service>*>(desks)[warp]);
  }
}

template <typename Service>
__global__ void __launch_bounds__(kTurnThreads)
    clock_kernel(const __grid_constant__ TurnNode<Service> node,
                 const __grid_constant__ TurnTiming timing) {
  turn_clock(node, timing);
}

template <typename Service>
__global__ void __launch_bounds__(kTurnThreads)
    turn_kernel(const __grid_constant__ TurnNode<Service> node) {
  __shared__ alignas(128) std::byte memory[sizeof(WorkspaceFor<Service>)];
  turn_stripe(node, blockIdx.x, *reinterpret_cast<WorkspaceFor<Service>*>(memory));
}

// Loads the kernels of a node that turns by itself onto the current device. Whoever names a kernel
// has it compiled, and each that turns takes minutes: a node names no other.
template <typename Service>
cudaError_t load_persistent_kernels() {
  return load_kernels({reinterpret_cast<const void*>(start_node_kernel<Service>),
                       reinterpret_cast<const void*>(persistent_turn_kernel<Service>)});
}

// The same for those that make one turn at a time (launch_turn).
template <typename Service>
cudaError_t load_single_turn_kernels() {
  return load_kernels({reinterpret_cast<const void*>(clock_kernel<Service>),
                       reinterpret_cast<const void*>(turn_kernel<Service>)});
}

// Blocks of `block_stripes` stripes that the current device holds at once, over all its nodes.
template <typename Service>
cudaError_t turn_blocks_max(std::uint32_t block_stripes, std::uint32_t& blocks) {
  int device = 0;
  int processors = 0;
  int each = 0;
  const std::size_t bytes = block_stripes * sizeof(WorkspaceFor<Service>);
  cudaError_t code = cudaGetDevice(&device);
  if (code == cudaSuccess) {
    code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  if (code == cudaSuccess) {
    code = cudaFuncSetAttribute(
        persistent_turn_kernel<Service>,
        cudaFuncAttributeMaxDynamicSharedMemorySize,
        static_cast<int>(block_stripes_of<kVotersOf<Service>>() * sizeof(WorkspaceFor<Service>)));
  }
  if (code == cudaSuccess) {
    code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &each, persistent_turn_kernel<Service>, kTurnThreads * block_stripes, bytes);
  }
  blocks = static_cast<std::uint32_t>(processors * each);
  return code;
}

template <typename Service>
cudaError_t launch_start(const TurnNode<Service>& node, cudaStream_t stream) {
  start_node_kernel<Service><<<node.shape.stripe_count, kTurnThreads, 0, stream>>>(node);
  return cudaGetLastError();
}

// Stays until the node is told to leave.
template <typename Service>
cudaError_t launch_persistent(const TurnNode<Service>& node,
                              const TurnTiming& timing,
                              cudaStream_t stream) {
  persistent_turn_kernel<Service><<<turn_blocks_of(node.shape),
                                    kTurnThreads * node.shape.block_stripes,
                                    desk_bytes_of<Service>(node.shape),
                                    stream>>>(node, timing);
  return cudaGetLastError();
}

// One reading of the clock and one turn of every stripe. Also what a graph is captured from.
template <typename Service>
cudaError_t launch_turn(const TurnNode<Service>& node,
                        const TurnTiming& timing,
                        cudaStream_t stream) {
  clock_kernel<Service><<<1, kTurnThreads, 0, stream>>>(node, timing);
  turn_kernel<Service><<<node.shape.stripe_count, kTurnThreads, 0, stream>>>(node);
  return cudaGetLastError();
}

}  // namespace gcoord::server
