// gcoord beside etcd: the same closed loop, machine, disk and promise; alternating runs.
//
// Both acknowledge a lock when it is on stable storage of a quorum of three nodes. Which of etcd's
// recipes and how many connections serve it best is tried first, and the best is what gcoord is
// held against.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

// The object ends with "pairs_ratio" (gcoord / etcd, many clients) and "p50_ratio" (gcoord / etcd,
// one client, median of a pair).
BenchResult bench_vs_etcd(const BenchOptions& options);

// "etcd_levels": etcd alone with 1,000 to 100,000 leases, at most options.leases, of TTL 10 s with
// a key each: CPU of the busiest node while 16 clients renew them, how late they end together, and
// what that does to other requests. A level that etcd does not reach is shown as far as it got.
BenchResult bench_etcd_leases(const BenchOptions& options);

}  // namespace gcoord::bench
