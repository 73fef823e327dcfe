#include "chaos/parity/launch.h"

#include "chaos/parity/scan_device.h"

#include <algorithm>

namespace gcoord::chaos {
namespace {

constexpr std::uint32_t kMultiprocessors = 132;  // Of an H200; others only run with another tail.

// Blocks that a multiprocessor holds at once: they bound the registers of a thread, and threads
// that spill to memory cost more than further ones gain. The whole step needs yet more registers;
// its grid is as large as what fits, whatever the number of rows, so that a turn without it does
// not pay for a grid as large as the table.
constexpr std::uint32_t kLeaderBlocks = 4;
constexpr std::uint32_t kOtherBlocks = 5;
constexpr std::uint32_t kStepThreads = 128;
constexpr std::uint32_t kStepBlocks = 3;

__global__ void start_rows(const __grid_constant__ DeviceWorldView world) {
  start_place(world, blockIdx.y, blockIdx.x * blockDim.x + threadIdx.x);
}

// For turns with chance, and for those without, which are what is measured.
template <bool quiet>
__global__ void __launch_bounds__(kScanThreads, kLeaderBlocks)
    lead_rows(const __grid_constant__ DeviceWorldView world,
              const __grid_constant__ ResidentTurn turn) {
  __shared__ BlockRows rows;
  run_leaders<quiet>(world, turn, blockIdx.y, blockIdx.x, rows);
}

template <bool quiet>
__global__ void __launch_bounds__(kScanThreads, kOtherBlocks)
    other_rows(const __grid_constant__ DeviceWorldView world,
               const __grid_constant__ ResidentTurn turn) {
  __shared__ BlockRows rows;
  run_others<quiet>(world, turn, blockIdx.y, blockIdx.x, rows);
}

__global__ void __launch_bounds__(kStepThreads, kStepBlocks)
    rest_rows(const __grid_constant__ DeviceWorldView world,
              const __grid_constant__ ResidentTurn turn) {
  __shared__ RowArrays arrays[kStepThreads];
  const std::uint32_t first = blockIdx.x * blockDim.x + threadIdx.x;
  run_rest(world, turn, blockIdx.y, first, gridDim.x * blockDim.x, arrays[threadIdx.x]);
  if (first == 0) {
    close_turn(world.active, turn.number, blockIdx.y);
  }
}

__global__ void digest_rows(const __grid_constant__ DeviceWorldView world,
                            std::uint32_t node,
                            std::uint64_t* digest) {
  digest_place(world, node, blockIdx.x * blockDim.x + threadIdx.x, digest);
}

__global__ void copy_one_row(const __grid_constant__ DeviceWorldView world,
                             std::uint32_t node,
                             std::uint32_t row,
                             consensus::RowCopy* out) {
  copy_place(world, node, row, *out);
}

std::uint32_t blocks_for(const DeviceWorldView& world, std::uint32_t rows_per_block) {
  return (world.view.shape.shard_count + rows_per_block - 1) / rows_per_block;
}

}  // namespace

void launch_start(const DeviceWorldView& world) {
  start_rows<<<dim3(blocks_for(world, kStepThreads), kResidentNodes), kStepThreads>>>(world);
}

void launch_turn(const DeviceWorldView& world, const ResidentTurn& turn) {
  const std::uint32_t steps = kMultiprocessors * kStepBlocks / kResidentNodes;
  const dim3 rest_grid(std::min(steps, blocks_for(world, kStepThreads)), kResidentNodes);
  const dim3 grid(blocks_for(world, kScanRows), kResidentNodes);
  if (turn.rates.by_chance == 0) {
    lead_rows<true><<<grid, kScanThreads>>>(world, turn);
    other_rows<true><<<grid, kScanThreads>>>(world, turn);
  } else {
    lead_rows<false><<<grid, kScanThreads>>>(world, turn);
    other_rows<false><<<grid, kScanThreads>>>(world, turn);
  }
  rest_rows<<<rest_grid, kStepThreads>>>(world, turn);
}

void launch_digests(const DeviceWorldView& world, std::uint32_t node, std::uint64_t* digest) {
  digest_rows<<<blocks_for(world, kStepThreads), kStepThreads>>>(world, node, digest);
}

void launch_row(const DeviceWorldView& world,
                std::uint32_t node,
                std::uint32_t row,
                consensus::RowCopy* out) {
  copy_one_row<<<1, 1>>>(world, node, row, out);
}

}  // namespace gcoord::chaos
