#include "consensus/device/stepper_cuda_launch.h"

namespace gcoord::consensus {
namespace {

// Threads of a block: enough for a multiprocessor to hold several blocks of this kernel's size.
constexpr std::uint32_t kBlockThreads = 128;

__global__ void step_staged_rows(PackedTable table, StagedBatch batch, StepInput input) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < batch.count) {
    step_staged(table, batch, k, input);
  }
}

__global__ void sweep_rows(SweepCall call) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < call.row_count) {
    sweep_row(call, k);
  }
}

__global__ void flip(PackedTable table, std::uint64_t seed) {
  flip_stored_bit(table, seed);
}

__global__ void hold(std::uint64_t hold_ns) {
  hold_device(hold_ns);
}

}  // namespace

void launch_staged_steps(const StepCall& call, cudaStream_t stream) {
  // A grid has at least one block, even for the batch of no rows that loads the kernel.
  const std::uint32_t blocks = call.batch.count / kBlockThreads + 1;
  step_staged_rows<<<blocks, kBlockThreads, 0, stream>>>(call.table, call.batch, call.input);
}

void launch_sweep(const SweepCall& call, cudaStream_t stream) {
  sweep_rows<<<call.row_count / kBlockThreads + 1, kBlockThreads, 0, stream>>>(call);
}

void launch_flip(const PackedTable& table, std::uint64_t seed, cudaStream_t stream) {
  flip<<<1, 1, 0, stream>>>(table, seed);
}

void launch_hold(std::uint64_t hold_ns, cudaStream_t stream) {
  hold<<<1, 1, 0, stream>>>(hold_ns);
}

}  // namespace gcoord::consensus
