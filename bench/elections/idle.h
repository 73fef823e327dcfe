// Benchmark of an idle cluster: CPU time per node and messages between nodes, with few and with
// many shards, to show which costs grow with the shards.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_idle(const BenchOptions& options);

}  // namespace gcoord::bench
