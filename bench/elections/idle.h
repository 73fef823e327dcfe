// Benchmarks of idle clusters. CPU time per node and messages between nodes, with few and with many
// shards, show which costs grow with the shards. A million shards on each of three nodes show how
// long a node takes to start, new and with its past, and how much memory an idle replica takes.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_idle(const BenchOptions& options);

BenchResult bench_scale(const BenchOptions& options);

}  // namespace gcoord::bench
