// `gcoord-bench vs`: gcoord with its defaults beside etcd 3.4, etcd 3.5, ZooKeeper and one Redis.
//
// docs/reference/comparison.md is made from its result by bench/report/comparison.py.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

// options.peers names who takes part, options.node_cores where servers and clients run together;
// with options.quick a brief look, which says of itself that it is one.
BenchResult bench_vs(const BenchOptions& options);

}  // namespace gcoord::bench
