// kill -9 of a node that leads about a third of all shards: how long until all are led again, and
// how much of that is taking them over: from the first shard that the others lead to the last one.
// With --device each node runs on a device of the list, with --turn resident its turn too.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_failover(const BenchOptions& options);

}  // namespace gcoord::bench
