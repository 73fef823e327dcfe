// A million shards on each of three nodes: how long a node takes to start, new and with its past,
// and how much memory an idle shard replica takes.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_scale(const BenchOptions& options);

}  // namespace gcoord::bench
