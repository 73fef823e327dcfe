#include "ledger/trees/launch.h"

#include <cuda_runtime_api.h>

namespace gcoord::ledger {
namespace {

constexpr std::uint32_t kAppendThreads = 128;
constexpr std::uint32_t kAppendBlocks = 8;  // Of a multiprocessor: 64 registers for each thread.
constexpr std::uint32_t kRootThreads = 128;

__global__ void __launch_bounds__(kAppendThreads, kAppendBlocks)
    append_kernel(const __grid_constant__ MerkleTurn turn) {
  __shared__ MerkleBlock block;
  append_runs(turn, blockIdx.x * kMerkleBlockRuns, block);
}

__global__ void root_kernel(const __grid_constant__ MerkleTurn turn, Sha256Words* roots) {
  const std::uint32_t run = blockIdx.x * blockDim.x + threadIdx.x;
  if (run < turn.run_count) {
    roots[run] = root_words(turn.table, turn.run_shard[run]);
  }
}

}  // namespace

void launch_append(const MerkleTurn& turn) {
  cudaMemsetAsync(turn.kept_count, 0, sizeof *turn.kept_count);
  const std::uint32_t blocks = (turn.run_count + kMerkleBlockRuns - 1) / kMerkleBlockRuns;
  if (blocks != 0) {
    append_kernel<<<blocks, kAppendThreads>>>(turn);
  }
}

void launch_roots(const MerkleTurn& turn, Sha256Words* roots) {
  const std::uint32_t blocks = (turn.run_count + kRootThreads - 1) / kRootThreads;
  if (blocks != 0) {
    root_kernel<<<blocks, kRootThreads>>>(turn, roots);
  }
}

}  // namespace gcoord::ledger
