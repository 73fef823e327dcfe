// The kernels that hash what the turn of a counting node decides, as functions that host code can
// call. CUDA builds only; contracts are in ledger/trees/follow.h. Launches only enqueue, on the
// current device; load the kernels before anything resident runs there.
#pragma once

#include "chaos/device_turn/counted_log.h"
#include "chaos/device_turn/tree_address.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gcoord::chaos {

// Threads of a block, and blocks of a multiprocessor that has nothing else: 64 registers a thread.
inline constexpr std::uint32_t kHashThreads = 128;
inline constexpr std::uint32_t kHashBlocks = 8;

cudaError_t load_trees();

// Stays until the log ends, or the follower's life. `processors`: of the device, all of which its
// blocks fill for a moment.
cudaError_t launch_trees(const ledger::MerkleFollower& follower,
                         const CountedLog& log,
                         const TreeAddress& place,
                         std::uint32_t processors,
                         cudaStream_t stream);

// Folds the roots of all shards.
cudaError_t launch_tree_roots(const ledger::MerkleFollower& follower, cudaStream_t stream);

}  // namespace gcoord::chaos
