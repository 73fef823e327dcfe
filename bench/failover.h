// kill -9 of a node that leads about a third of all shards: how long until all are led again.
#pragma once

#include "bench/bench_options.h"

namespace gcoord::bench {

BenchResult bench_failover(const BenchOptions& options);

}  // namespace gcoord::bench
