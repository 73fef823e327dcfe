// Commands per second with Merkle trees on every replica, beside the same without.
//
// With them, every replica hashes each entry it decides, no-ops too, into its shard's tree (a leaf
// of a 54-byte record is one block of SHA-256, a node two), on the device that its turn runs on.
// Runs alternate: without, then each plan, then again. After each run with trees, those of all
// shards are compared between the three replicas, and of thousands of shards with the CPU's over
// the same entries (chaos/device_turn/tree_check.h). CUDA builds only.
#pragma once

#include "bench/turn/hash_plan.h"
#include "bench/turn/turn_run.h"

#include <cstdint>
#include <vector>

namespace gcoord::bench {

// Rows for 1, 4 and 16 commands a batch; a run that failed says so in its place.
Result<Json> measure_hashing(const TurnDevices& devices,
                             const std::vector<std::uint32_t>& plans,
                             std::uint32_t shards,
                             std::uint32_t runs);

}  // namespace gcoord::bench
