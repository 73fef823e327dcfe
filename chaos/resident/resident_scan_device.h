// Compacts the rows of one block that want a turn into the list of all that do: prefix sums within
// each warp and over the block's warps, and one atomic addition per block.
//
// Device code only; included by .cu files. Called by all threads of a block of kScanThreads with
// the same arguments but `thread`. Lists are in no order across blocks; within one, leaders come
// before others and rows rise, so that neighbouring lanes of the step read neighbouring rows.
#pragma once

#include "chaos/resident/resident_device.h"
#include "common/hd.h"

#include <cstdint>

namespace gcoord::chaos {

inline constexpr std::uint32_t kScanThreads = 256;
inline constexpr std::uint32_t kScanRows = kScanThreads * kScanRowsPerThread;
inline constexpr std::uint32_t kWarpLanes = 32;
inline constexpr std::uint32_t kScanWarps = kScanThreads / kWarpLanes;

// Two counts of at most kScanRows in one word: leaders in the upper half, others in the lower one.
inline constexpr std::uint32_t kLeaderShift = 16;
static_assert(kScanRows < 1u << kLeaderShift);

// What the threads of a block tell each other.
struct ScanCounts {
  std::uint32_t warp[kScanWarps];  // Active rows of each warp, as two counts.
  std::uint32_t first;             // The block's first place in the list.
};

GCOORD_DEVICE inline std::uint32_t counted(Activity activity) {
  return activity == Activity::None ? 0 : activity == Activity::Leader ? 1u << kLeaderShift : 1u;
}

// The sum over this lane and the lower ones.
GCOORD_DEVICE inline std::uint32_t sum_up_to(std::uint32_t value) {
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  for (std::uint32_t distance = 1; distance < kWarpLanes; distance *= 2) {
    const std::uint32_t below = __shfl_up_sync(~0u, value, distance);
    value += lane >= distance ? below : 0;
  }
  return value;
}

// Turns a thread's two counts into its two first places in the list. All threads of the block call
// it.
GCOORD_DEVICE inline void places_of(const ActiveRows& active,
                                    std::uint64_t turn,
                                    std::uint32_t node,
                                    std::uint32_t own,
                                    ScanCounts& counts,
                                    std::uint32_t (&place)[2]) {
  const std::uint32_t warp = threadIdx.x / kWarpLanes;
  const std::uint32_t up_to = sum_up_to(own);
  if (threadIdx.x % kWarpLanes == kWarpLanes - 1) {
    counts.warp[warp] = up_to;
  }
  __syncthreads();
  std::uint32_t before = up_to - own;
  std::uint32_t all = 0;
  for (std::uint32_t k = 0; k < kScanWarps; ++k) {
    before += k < warp ? counts.warp[k] : 0;
    all += counts.warp[k];
  }
  const std::uint32_t leaders = all >> kLeaderShift;
  const std::uint32_t lower_half = (1u << kLeaderShift) - 1;
  if (threadIdx.x == 0) {
    counts.first = atomicAdd(&active.count_of(turn, node), leaders + (all & lower_half));
  }
  __syncthreads();
  place[0] = counts.first + (before >> kLeaderShift);
  place[1] = counts.first + leaders + (before & lower_half);
}

GCOORD_DEVICE inline void scan_block(const DeviceWorldView& world,
                                     const ResidentTurn& turn,
                                     std::uint32_t node,
                                     std::uint32_t first_row,
                                     ScanCounts& counts) {
  const std::uint32_t row = first_row + threadIdx.x * kScanRowsPerThread;
  const bool scanned = row < world.view.shape.shard_count;
  Activity activity[kScanRowsPerThread] = {};
  std::uint32_t own = 0;
  if (scanned && !four_rest(world, turn, node, row)) {
    for (std::uint32_t k = 0; k < kScanRowsPerThread; ++k) {
      activity[k] = activity_of(world, turn, node, row + k);
      own += counted(activity[k]);
    }
  }
  if (__syncthreads_or(own != 0 ? 1 : 0) == 0) {
    return;
  }
  std::uint32_t place[2];
  places_of(world.active, turn.number, node, own, counts, place);
  for (std::uint32_t k = 0; k < kScanRowsPerThread; ++k) {
    if (activity[k] != Activity::None) {
      world.active.row[node][place[activity[k] == Activity::Leader ? 0 : 1]++] = row + k;
    }
  }
}

}  // namespace gcoord::chaos
