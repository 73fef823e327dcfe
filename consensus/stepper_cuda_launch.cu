#include "consensus/stepper_cuda_launch.h"

namespace gcoord::consensus {
namespace {

// Threads of a block: enough for a multiprocessor to hold several blocks of this kernel's size.
constexpr std::uint32_t kBlockThreads = 128;

__global__ void step_packed_rows(PackedTable table, PackedBatch batch, const StepInput* input) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < batch.count) {
    step_packed(table, batch, k, *input);
  }
}

}  // namespace

void launch_packed_steps(const PackedTable& table,
                         const PackedBatch& batch,
                         const StepInput* input) {
  const std::uint32_t blocks = (batch.count + kBlockThreads - 1) / kBlockThreads;
  step_packed_rows<<<blocks, kBlockThreads>>>(table, batch, input);
}

}  // namespace gcoord::consensus
