// Watches of one name: how long until all who watch are told, and what a watch costs.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

// For 1, 1,000, 10,000, 100,000 and a million watches of one name at one of three durable nodes, or
// as many of these levels as --watches has room for, a thousand to a connection, the name changes
// hands one change after the other, each when the one before has been told to all. Latencies are
// from the request that changes it to the event at a watch, so that the commit is in them; "commit"
// is the same request's own answer. Memory is what the node grew by.
//
// Result: seconds, shards, levels: watches, connections, changes, commit_p50_ms, commit_p99_ms,
// told_p50_ms, told_p99_ms, events_per_s, memory_bytes_per_watch. The object ends with told_p50_ms
// and told_p99_ms of the largest level.
BenchResult bench_watch(const BenchOptions& options);

}  // namespace gcoord::bench
