// Barriers: how long until many members have all passed one.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

// Three durable nodes, and options.members sessions (2 to 256) in this process, which meet at one
// barrier, round after round, for options.measured: first as sessions of one client, which share
// its connections, then each with a client and connections of its own. A round is from the call of
// the first member until the last one has been let go, so that all arrivals and the commit are in
// it. Every member's call must end well.
//
// Result: members, shards, seconds, levels: clients, rounds, p50_ms, p99_ms, max_ms. The object
// ends with p50_ms and p99_ms of members with clients of their own.
BenchResult bench_barrier(const BenchOptions& options);

}  // namespace gcoord::bench
