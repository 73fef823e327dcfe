// gcoord beside etcd: the same closed loop, machine, disk and promise; alternating runs.
//
// Both acknowledge a lock when it is on stable storage of a quorum of three nodes. Which of etcd's
// recipes and how many connections serve it best is tried first, and the best is what gcoord is
// held against.
#pragma once

#include "bench/bench_options.h"

namespace gcoord::bench {

// The object ends with "pairs_ratio" (gcoord / etcd, many clients) and "p50_ratio" (gcoord / etcd,
// one client, median of a pair).
BenchResult bench_vs_etcd(const BenchOptions& options);

}  // namespace gcoord::bench
