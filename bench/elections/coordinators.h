// Messages and time that the classic elections of a coordinator take, by algorithm and number of
// nodes: at worst, at best, and when one node finds that the coordinator has failed. They run, over
// the network of membership/coordinator; docs/internals/coordinators.md compares them with what
// nodes use.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_bully(const BenchOptions& options);
BenchResult bench_ring(const BenchOptions& options);

}  // namespace gcoord::bench
