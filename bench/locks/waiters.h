// One lock with very many waiters: what it costs to hand it on, by the length of its queue.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

// Three nodes and one client process; queues of a hundredth, a tenth and all of options.waiters,
// each at a cluster of its own, options.runs times in turn. Fails when a release woke anybody but
// the first in line.
BenchResult bench_waiters(const BenchOptions& options);

}  // namespace gcoord::bench
