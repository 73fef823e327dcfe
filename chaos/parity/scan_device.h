// One block of the first two kernels of a turn. The first lists those of its rows that want the
// turn, by prefix sums within each warp and over the block's warps, takes as many places by one
// atomic addition, and runs the leaders among them; the second runs the others.
//
// Device code only; included by .cu files. Called by all threads of a block of kScanThreads with
// the same arguments. Places are in no order across blocks; within one, leaders come before others
// and rows rise, so that neighbouring lanes read neighbouring rows.
#pragma once

#include "chaos/parity/device.h"
#include "chaos/parity/stage_device.h"
#include "common/hd.h"

#include <cstdint>

namespace gcoord::chaos {

inline constexpr std::uint32_t kScanThreads = 128;
inline constexpr std::uint32_t kScanRows = kScanThreads * kScanRowsPerThread;
inline constexpr std::uint32_t kScanWarps = kScanThreads / kWarpLanes;

// Two counts of at most kScanRows in one word: leaders in the upper half, others in the lower one.
inline constexpr std::uint32_t kLeaderShift = 16;
inline constexpr std::uint32_t kOthersMask = (1u << kLeaderShift) - 1;
static_assert(kScanRows < 1u << kLeaderShift);
static_assert(kScanRows == kBlockRows);

// Lists that are indexed at run time would lie in a thread's own memory, which shares its cache
// with everything that is loaded. 9 chunks of 16 bytes: an odd number, so that the lanes of a warp
// find theirs in different banks.
struct ThreadLists {
  RowAhead ahead;
  RowLists lists;
};

static_assert(sizeof(ThreadLists) == 9 * sizeof(consensus::MessageChunk));

// What the threads of a block tell each other, and what they keep there.
struct BlockRows {
  std::uint32_t warp[kScanWarps];   // Active rows of each warp, as two counts.
  std::uint32_t first;              // The block's first place in this turn.
  std::uint32_t row[kScanRows];     // Its active rows, in the order of their places.
  StagedRow staged[kScanThreads];   // Those that its threads are at,
  ThreadLists lists[kScanThreads];  // and what each of these is told.
};

GCOORD_DEVICE inline std::uint32_t counted(std::uint32_t leading, std::uint32_t wanting) {
  return static_cast<std::uint32_t>(__popc(leading)) << kLeaderShift |
         static_cast<std::uint32_t>(__popc(wanting & ~leading));
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

// Turns a thread's two counts into its two first numbers in the block's list, and says how long the
// list is, in two counts. All threads of the block call it; `rows.first` is there for them after
// they have met again.
GCOORD_DEVICE inline std::uint32_t places_of(const ActiveRows& active,
                                             std::uint64_t turn,
                                             std::uint32_t node,
                                             std::uint32_t own,
                                             BlockRows& rows,
                                             std::uint32_t& leader,
                                             std::uint32_t& other) {
  const std::uint32_t warp = threadIdx.x / kWarpLanes;
  const std::uint32_t up_to = sum_up_to(own);
  if (threadIdx.x % kWarpLanes == kWarpLanes - 1) {
    rows.warp[warp] = up_to;
  }
  __syncthreads();
  std::uint32_t before = up_to - own;
  std::uint32_t all = 0;
  for (std::uint32_t k = 0; k < kScanWarps; ++k) {
    before += k < warp ? rows.warp[k] : 0;
    all += rows.warp[k];
  }
  const std::uint32_t leaders = all >> kLeaderShift;
  if (threadIdx.x == 0) {
    rows.first = atomicAdd(&active.count_of(turn, node), leaders + (all & kOthersMask));
  }
  leader = before >> kLeaderShift;
  other = leaders + (before & kOthersMask);
  return all;
}

// Lists the block's rows that want the turn, leaders first. All threads of the block call it.
GCOORD_DEVICE inline ListedBlock list_block(const DeviceWorldView& world,
                                            const ResidentTurn& turn,
                                            std::uint32_t node,
                                            std::uint32_t first_row,
                                            BlockRows& rows) {
  const std::uint32_t row = first_row + threadIdx.x * kScanRowsPerThread;
  const bool scanned = row < world.view.shape.shard_count;
  const std::uint32_t wanting = scanned ? four_wanting(world, turn, node, row) : 0;
  if (__syncthreads_or(wanting != 0 ? 1 : 0) == 0) {
    return {};
  }
  const std::uint32_t leading = four_leading(world.table[node], row, wanting);
  const std::uint32_t own = counted(leading, wanting);
  std::uint32_t leader = 0;
  std::uint32_t other = 0;
  const std::uint32_t all = places_of(world.active, turn.number, node, own, rows, leader, other);
  GCOORD_UNROLL
  for (std::uint32_t k = 0; k < kScanRowsPerThread; ++k) {
    if ((wanting >> k & 1u) != 0) {
      rows.row[(leading >> k & 1u) != 0 ? leader++ : other++] = row + k;
    }
  }
  __syncthreads();
  return {rows.first, all >> kLeaderShift, all & kOthersMask};
}

// The turns of rows [begin, end) of a block's list, as far as plain steps of this role go. `quiet`:
// no chance has its hand in it.
template <consensus::Role role, bool quiet>
GCOORD_DEVICE inline void run_listed(const DeviceWorldView& world,
                                     const ResidentTurn& turn,
                                     std::uint32_t node,
                                     std::uint32_t begin,
                                     std::uint32_t end,
                                     BlockRows& rows) {
  const NodeTurn& now = turn.node[node];
  // Its peers where the launch put them: the same for all threads, so nobody copies them.
  consensus::StepInput input = now.input;
  input.peer = now.peer;
  input.peer_count = kResidentNodes - 1;
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  StagedRow* staged = rows.staged + (threadIdx.x - lane);
  for (std::uint32_t first = begin + threadIdx.x - lane; first < end; first += kScanThreads) {
    const std::uint32_t here = end - first < kWarpLanes ? end - first : kWarpLanes;
    stage_rows(world.table[node], rows.row + first, here, staged);
    const std::uint32_t k = first + (lane < here ? lane : 0);
    RowWork work;
    RowLists& lists = rows.lists[threadIdx.x].lists;
    RowAhead& ahead = rows.lists[threadIdx.x].ahead;
    const RowTurn t{
        world.view, turn, input, node, rows.row[k], rows.first + k, work, lists, quiet, &ahead};
    if (lane < here) {
      gather_row(t);
    }
    await_staged();
    const bool written = lane < here && run_place<role>(world, t, staged[lane].row);
    const std::uint32_t mask = __ballot_sync(~0u, written);
    unstage_moving(world.table[node], rows.row + first, mask, staged);
  }
}

// The first kernel's block: lists its rows, runs those that lead and leaves the others to the
// second.
template <bool quiet>
GCOORD_DEVICE inline void run_leaders(const DeviceWorldView& world,
                                      const ResidentTurn& turn,
                                      std::uint32_t node,
                                      std::uint32_t block,
                                      BlockRows& rows) {
  const std::uint32_t first_row = block * kScanRows;
  const ListedBlock listed = list_block(world, turn, node, first_row, rows);
  if (threadIdx.x == 0) {
    world.active.block[node][block] = listed;
  }
  std::uint32_t* others = world.active.listed[node] + first_row;
  for (std::uint32_t k = threadIdx.x; k < listed.others; k += kScanThreads) {
    others[k] = rows.row[listed.leaders + k];
  }
  run_listed<consensus::Role::Leader, quiet>(world, turn, node, 0, listed.leaders, rows);
}

// The second kernel's.
template <bool quiet>
GCOORD_DEVICE inline void run_others(const DeviceWorldView& world,
                                     const ResidentTurn& turn,
                                     std::uint32_t node,
                                     std::uint32_t block,
                                     BlockRows& rows) {
  const ListedBlock listed = world.active.block[node][block];
  if (listed.others == 0) {
    return;
  }
  const std::uint32_t* others = world.active.listed[node] + block * kScanRows;
  for (std::uint32_t k = threadIdx.x; k < listed.others; k += kScanThreads) {
    rows.row[k] = others[k];
  }
  if (threadIdx.x == 0) {
    rows.first = listed.place_first + listed.leaders;
  }
  __syncthreads();
  run_listed<consensus::Role::Follower, quiet>(world, turn, node, 0, listed.others, rows);
}

}  // namespace gcoord::chaos
