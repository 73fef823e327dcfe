#include "chaos/device_turn/tree_launch.h"

#include "common/device/cuda_kernels.h"

#include <cuda_runtime.h>

namespace gcoord::chaos {
namespace {

__global__ void __launch_bounds__(kHashThreads, kHashBlocks)
    follow_kernel(const __grid_constant__ ledger::MerkleFollower follower,
                  const __grid_constant__ CountedLog log,
                  const __grid_constant__ TreeAddress place) {
  __shared__ alignas(128) std::byte memory[sizeof(PlacedBlock)];
  follow_in_place(follower, log, place, *reinterpret_cast<PlacedBlock*>(memory));
}

__global__ void fold_kernel(const __grid_constant__ ledger::MerkleFollower follower) {
  const std::uint32_t shard = blockIdx.x * blockDim.x + threadIdx.x;
  if (shard < follower.table.shard_count) {
    follower.root[shard] = ledger::root_words(follower.table, shard);
  }
}

}  // namespace

cudaError_t load_trees() {
  return load_kernels(
      {reinterpret_cast<const void*>(follow_kernel), reinterpret_cast<const void*>(fold_kernel)});
}

cudaError_t launch_trees(const ledger::MerkleFollower& follower,
                         const CountedLog& log,
                         const TreeAddress& place,
                         std::uint32_t processors,
                         cudaStream_t stream) {
  follow_kernel<<<processors * kHashBlocks, kHashThreads, 0, stream>>>(follower, log, place);
  return cudaGetLastError();
}

cudaError_t launch_tree_roots(const ledger::MerkleFollower& follower, cudaStream_t stream) {
  const std::uint32_t blocks = (follower.table.shard_count + kHashThreads - 1) / kHashThreads;
  fold_kernel<<<blocks, kHashThreads, 0, stream>>>(follower);
  return cudaGetLastError();
}

}  // namespace gcoord::chaos
