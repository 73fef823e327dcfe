// Lock commands applied per second: the lock service alone, on one core or with --device cuda:N on
// a GPU.
//
// Commands are decoded, decided and in memory (of the GPU) before the clock starts; a batch's time
// runs until all its replies are there: grouping by shard, applying in log order, replies, and the
// host's wait for it. No log, no network, no hashing of names. Every reply is compared with what it
// must be. Blocking.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_locks(const BenchOptions& options);

}  // namespace gcoord::bench
