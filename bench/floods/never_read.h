// Others' latency while connections that never read flood the nodes.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

// Three durable nodes. `gcoordctl bench lock` with --clients clients (default 32) measures a while
// alone and then beside 20, 60 and 100 connections that send lists, gets and acquires and never
// read an answer, each level in turn, --runs times. Figures are medians of the runs.
//
// Result: seconds, shards, clients, runs (raw), levels: connections, alone_p99_ms, p99_ms, ratio,
// alone_pairs_per_s, pairs_per_s, errors, opened, closed, flood_bytes. A ratio is that of the two
// 99th percentiles of acquires in the same run.
BenchResult bench_never_read(const BenchOptions& options);

}  // namespace gcoord::bench
