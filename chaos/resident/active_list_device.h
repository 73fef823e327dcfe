// Compacts the rows of one block that want a turn into the list of all that do: ballots within a
// warp, a prefix sum over the block's warps, one atomic addition per block.
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
inline constexpr std::uint32_t kScanRowsPerThread = 4;  // Loads in flight that hide memory latency.
inline constexpr std::uint32_t kScanRows = kScanThreads * kScanRowsPerThread;
inline constexpr std::uint32_t kWarpLanes = 32;
inline constexpr std::uint32_t kScanGroups = kScanRows / kWarpLanes;
static_assert(kScanGroups == kWarpLanes);  // One warp adds them up.

// Rows of a group (32 neighbouring rows) before the prefix sum, and their first place after it.
struct ScanCounts {
  std::uint32_t leaders[kScanGroups];
  std::uint32_t others[kScanGroups];
};

// The sum over lower lanes, and in `total` the sum over all.
GCOORD_DEVICE inline std::uint32_t sum_below(std::uint32_t value, std::uint32_t& total) {
  constexpr std::uint32_t kAllLanes = ~0u;
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  std::uint32_t sum = value;
  for (std::uint32_t distance = 1; distance < kWarpLanes; distance *= 2) {
    const std::uint32_t below = __shfl_up_sync(kAllLanes, sum, distance);
    sum += lane >= distance ? below : 0;
  }
  total = __shfl_sync(kAllLanes, sum, kWarpLanes - 1);
  return sum - value;
}

// By the first warp: turns counts into places and takes room for them in the list.
GCOORD_DEVICE inline void place_groups(const ActiveRows& active,
                                       std::uint64_t turn,
                                       std::uint32_t node,
                                       ScanCounts& counts) {
  const std::uint32_t lane = threadIdx.x;
  std::uint32_t leaders = 0;
  std::uint32_t others = 0;
  const std::uint32_t leader_place = sum_below(counts.leaders[lane], leaders);
  const std::uint32_t other_place = sum_below(counts.others[lane], others);
  std::uint32_t first = 0;
  if (lane == 0) {
    first = atomicAdd(&active.count_of(turn, node), leaders + others);
  }
  first = __shfl_sync(~0u, first, 0);
  counts.leaders[lane] = first + leader_place;
  counts.others[lane] = first + leaders + other_place;
}

GCOORD_DEVICE inline void scan_block(const DeviceWorldView& world,
                                     const ResidentTurn& turn,
                                     std::uint32_t node,
                                     std::uint32_t first_row,
                                     ScanCounts& counts) {
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  const std::uint32_t lower_lanes = (1u << lane) - 1;
  Activity activity[kScanRowsPerThread];
  for (std::uint32_t k = 0; k < kScanRowsPerThread; ++k) {
    activity[k] = activity_of(world, turn, node, first_row + k * kScanThreads + threadIdx.x);
  }
  bool any = false;
  std::uint32_t leaders[kScanRowsPerThread];
  std::uint32_t others[kScanRowsPerThread];
  for (std::uint32_t k = 0; k < kScanRowsPerThread; ++k) {
    leaders[k] = __ballot_sync(~0u, activity[k] == Activity::Leader);
    others[k] = __ballot_sync(~0u, activity[k] == Activity::Other);
    any = any || (leaders[k] | others[k]) != 0;
    if (lane == 0) {
      const std::uint32_t group = (k * kScanThreads + threadIdx.x) / kWarpLanes;
      counts.leaders[group] = __popc(leaders[k]);
      counts.others[group] = __popc(others[k]);
    }
  }
  if (__syncthreads_or(any ? 1 : 0) == 0) {
    return;
  }
  if (threadIdx.x < kWarpLanes) {
    place_groups(world.active, turn.number, node, counts);
  }
  __syncthreads();
  for (std::uint32_t k = 0; k < kScanRowsPerThread; ++k) {
    const std::uint32_t row = first_row + k * kScanThreads + threadIdx.x;
    const std::uint32_t group = (k * kScanThreads + threadIdx.x) / kWarpLanes;
    if (activity[k] == Activity::Leader) {
      world.active.row[node][counts.leaders[group] + __popc(leaders[k] & lower_lanes)] = row;
    } else if (activity[k] == Activity::Other) {
      world.active.row[node][counts.others[group] + __popc(others[k] & lower_lanes)] = row;
    }
  }
}

}  // namespace gcoord::chaos
