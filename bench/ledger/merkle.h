// Merkle trees appended to per second: many shards' entries in one turn, on one core or with
// --device cuda:N on a GPU.
//
// Records of 54 bytes, on the CPU also of 1024, lie where the trees are before the clock starts; a
// turn's time runs until all its leaves and nodes are hashed and the host knows. No log, no
// signature, no copies. Blocking.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_merkle(const BenchOptions& options);

}  // namespace gcoord::bench
