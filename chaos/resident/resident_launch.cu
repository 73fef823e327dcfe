#include "chaos/resident/resident_launch.h"
#include "chaos/resident/resident_scan_device.h"

#include <algorithm>

namespace gcoord::chaos {
namespace {

constexpr std::uint32_t kStepThreads = 128;
constexpr std::uint32_t kMultiprocessors = 132;  // Of an H200; others only run with another tail.

// Blocks that a multiprocessor holds at once: few of the step, whose threads need many registers,
// more of the parts that wait for memory. Grids are as large as that, whatever the number of rows,
// so that an idle turn does not pay for a grid as large as the table.
constexpr std::uint32_t kStepBlocks = 3;
constexpr std::uint32_t kPartThreads = 256;
constexpr std::uint32_t kPartBlocks = 4;

__global__ void start_rows(const __grid_constant__ DeviceWorldView world) {
  start_place(world, blockIdx.y, blockIdx.x * blockDim.x + threadIdx.x);
}

__global__ void __launch_bounds__(kScanThreads)
    scan_rows(const __grid_constant__ DeviceWorldView world,
              const __grid_constant__ ResidentTurn turn) {
  __shared__ ScanCounts counts;
  scan_block(world, turn, blockIdx.y, blockIdx.x * kScanRows, counts);
}

__global__ void __launch_bounds__(kPartThreads, kPartBlocks)
    gather_rows(const __grid_constant__ DeviceWorldView world,
                const __grid_constant__ ResidentTurn turn) {
  const std::uint32_t count = world.active.count_of(turn.number, blockIdx.y);
  const std::uint32_t first = blockIdx.x * blockDim.x + threadIdx.x;
  for (std::uint32_t place = first; place < count; place += gridDim.x * blockDim.x) {
    gather_place(world, turn, blockIdx.y, place);
  }
}

__global__ void __launch_bounds__(kStepThreads, kStepBlocks)
    step_rows(const __grid_constant__ DeviceWorldView world,
              const __grid_constant__ ResidentTurn turn) {
  __shared__ RowArrays arrays[kStepThreads];
  const std::uint32_t first = blockIdx.x * blockDim.x + threadIdx.x;
  step_places(world, turn, blockIdx.y, first, gridDim.x * blockDim.x, arrays[threadIdx.x]);
}

__global__ void __launch_bounds__(kPartThreads, kPartBlocks)
    carry_out_rows(const __grid_constant__ DeviceWorldView world,
                   const __grid_constant__ ResidentTurn turn) {
  const std::uint32_t count = world.active.count_of(turn.number, blockIdx.y);
  const std::uint32_t first = blockIdx.x * blockDim.x + threadIdx.x;
  for (std::uint32_t place = first; place < count; place += gridDim.x * blockDim.x) {
    carry_out_place(world, turn, blockIdx.y, place);
  }
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

void launch_scan(const DeviceWorldView& world, const ResidentTurn& turn) {
  scan_rows<<<dim3(blocks_for(world, kScanRows), kResidentNodes), kScanThreads>>>(world, turn);
}

void launch_parts(const DeviceWorldView& world, const ResidentTurn& turn) {
  const std::uint32_t steps = kMultiprocessors * kStepBlocks / kResidentNodes;
  const std::uint32_t parts = kMultiprocessors * kPartBlocks / kResidentNodes;
  const dim3 step_grid(std::min(steps, blocks_for(world, kStepThreads)), kResidentNodes);
  const dim3 part_grid(std::min(parts, blocks_for(world, kPartThreads)), kResidentNodes);
  gather_rows<<<part_grid, kPartThreads>>>(world, turn);
  step_rows<<<step_grid, kStepThreads>>>(world, turn);
  carry_out_rows<<<part_grid, kPartThreads>>>(world, turn);
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
