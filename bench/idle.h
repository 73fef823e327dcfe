// What a cluster costs that nobody asks anything: CPU per node and messages between nodes, with few
// shards and with many, so that what grows with shards shows.
#pragma once

#include "bench/bench_options.h"

namespace gcoord::bench {

BenchResult bench_idle(const BenchOptions& options);

}  // namespace gcoord::bench
