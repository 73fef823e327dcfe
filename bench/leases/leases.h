// Many live leases: what renewing them costs, how late they end together, what a failover does.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

// The object has "steady": for each run "renewal" (CPU of each node while 16 processes renew all
// leases) and "storm" (all leases end in the same second: lateness, and the p99 of other requests
// before and during it); and "failovers": a kill -9 with a thousandth, a tenth and all of the
// leases, half of whose clients fall silent just before it. Parts: steady, failover.
BenchResult bench_leases(const BenchOptions& options);

}  // namespace gcoord::bench
