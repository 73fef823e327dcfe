// Sessions by the million: keep-alives renewed, deadlines looked at and deadlocks searched as wide
// operations, on one core or with --device cuda:N on a GPU.
//
// Session ids, columns and edges lie where the loops run before the clock starts; a time runs from
// the call to its return on the host, waits included. No network, no log, no copies but of what
// the answer is. Every outcome, deadline and cycle is compared with what it must be, outside the
// measured time. Blocking.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_sweeps(const BenchOptions& options);

}  // namespace gcoord::bench
