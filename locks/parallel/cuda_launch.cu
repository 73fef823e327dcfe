#include "locks/parallel/cuda_launch.h"

#include "locks/parallel/run.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

namespace gcoord::locks {
namespace {

constexpr std::uint32_t kShortThreads = 128;

// One group to a block: the longest run should share its multiprocessor with as few as possible.
constexpr std::uint32_t kLongThreads = 32;

// Groups for long runs to a multiprocessor: one for each of its schedulers, beside the short runs.
constexpr std::uint32_t kLongBlocksEach = 4;

constexpr std::uint32_t kLoopThreads = 256;

// Blocks of the counting stage, whose threads add up before they meet in memory.
constexpr std::uint32_t kCountBlocks = 512;

__global__ void count_kernel(LockBatch batch) {
  count_commands(batch, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x);
}

__global__ void list_kernel(LockBatch batch) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < batch.count) {
    list_run(batch, k);
  }
}

__global__ void ready_kernel(LockBatch batch) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < batch.count) {
    make_ready(batch, k);
  }
}

__global__ void __launch_bounds__(kShortThreads) apply_short_kernel(LockBatch batch) {
  apply_short_runs(batch);
}

__global__ void __launch_bounds__(kLongThreads, kLongBlocksEach)
    apply_long_kernel(LockBatch batch) {
  __shared__ LockWindow windows[kLongThreads / 32];
  apply_long_runs(batch, windows[threadIdx.x / 32]);
}

__global__ void order_kernel(LockBatch batch,
                             const std::uint32_t* first_events,
                             LockEvent* ordered,
                             std::uint32_t event_count) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < event_count) {
    order_event(batch, first_events, ordered, k);
  }
}

__global__ void move_kernel(RingMove move) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < move.row_count) {
    move_ring(move, k);
  }
}

__global__ void index_locks_kernel(LockTables tables) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < tables.locks.capacity) {
    index_lock(tables, LockRow{k + 1});
  }
}

__global__ void index_sessions_kernel(LockTables tables) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < tables.sessions.capacity) {
    index_session(tables, SessionRow{k + 1});
  }
}

std::uint32_t blocks_for(std::uint32_t count) {
  return (count + kLoopThreads - 1) / kLoopThreads;
}

std::uint32_t processors() {
  int device = 0;
  int count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return static_cast<std::uint32_t>(count);
}

// As many blocks as fit on the device at once: each takes runs until none is left.
std::uint32_t short_blocks() {
  int blocks = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, apply_short_kernel, kShortThreads, 0);
  return processors() * static_cast<std::uint32_t>(blocks);
}

// Bits of a shard's number, which the sort looks at.
int shard_bits(std::uint32_t shard_count) {
  int bits = 1;
  while (bits < 32 && shard_count - 1 >> bits != 0) {
    ++bits;
  }
  return bits;
}

cudaError_t sort_by_shard(const LockBatch& batch, void* scratch, std::size_t& scratch_bytes) {
  return cub::DeviceRadixSort::SortPairs(scratch,
                                         scratch_bytes,
                                         batch.shard_keys,
                                         batch.sorted_shards,
                                         batch.place_values,
                                         batch.order,
                                         batch.count,
                                         0,
                                         shard_bits(batch.tables.shard_count));
}

cudaError_t sum_events(const LockBatch& batch,
                       std::uint32_t* first_events,
                       void* scratch,
                       std::size_t& scratch_bytes) {
  return cub::DeviceScan::ExclusiveSum(
      scratch, scratch_bytes, batch.event_counts, first_events, batch.count);
}

}  // namespace

std::size_t group_scratch_bytes(std::uint32_t count_max) {
  LockBatch batch;
  batch.count = count_max;
  batch.tables.shard_count = ~0u;
  std::size_t sort_bytes = 0;
  std::size_t sum_bytes = 0;
  sort_by_shard(batch, nullptr, sort_bytes);
  sum_events(batch, nullptr, nullptr, sum_bytes);
  return sort_bytes > sum_bytes ? sort_bytes : sum_bytes;
}

void launch_batch(const LockBatch& batch,
                  const SideStream& side,
                  void* scratch,
                  std::size_t scratch_bytes) {
  cudaMemsetAsync(batch.state, 0, sizeof *batch.state);
  cudaMemsetAsync(batch.event_counts, 0, sizeof *batch.event_counts * batch.count);
  count_kernel<<<kCountBlocks, kLoopThreads>>>(batch);
  sort_by_shard(batch, scratch, scratch_bytes);
  list_kernel<<<blocks_for(batch.count), kLoopThreads>>>(batch);
  cudaEventRecord(side.listed, nullptr);
  ready_kernel<<<blocks_for(batch.count), kLoopThreads>>>(batch);
  apply_long_kernel<<<processors() * kLongBlocksEach, kLongThreads>>>(batch);
  cudaStreamWaitEvent(side.stream, side.listed, 0);
  apply_short_kernel<<<short_blocks(), kShortThreads, 0, side.stream>>>(batch);
  cudaEventRecord(side.applied, side.stream);
  cudaStreamWaitEvent(nullptr, side.applied, 0);
}

void launch_order_events(const LockBatch& batch,
                         std::uint32_t event_count,
                         std::uint32_t* first_events,
                         LockEvent* ordered,
                         void* scratch,
                         std::size_t scratch_bytes) {
  sum_events(batch, first_events, scratch, scratch_bytes);
  order_kernel<<<blocks_for(event_count), kLoopThreads>>>(
      batch, first_events, ordered, event_count);
}

void launch_move_ring(const RingMove& move) {
  move_kernel<<<blocks_for(move.row_count), kLoopThreads>>>(move);
}

void launch_index_locks(const LockTables& tables) {
  index_locks_kernel<<<blocks_for(tables.locks.capacity), kLoopThreads>>>(tables);
}

void launch_index_sessions(const LockTables& tables) {
  index_sessions_kernel<<<blocks_for(tables.sessions.capacity), kLoopThreads>>>(tables);
}

}  // namespace gcoord::locks
