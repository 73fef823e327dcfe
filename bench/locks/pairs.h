// Lock and unlock pairs per second of gcoord alone, for more and more clients, with what the nodes'
// processors and disks did meanwhile.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_pairs(const BenchOptions& options);

}  // namespace gcoord::bench
