// Lock commands applied per second: the lock tables alone, on one core as a node's host applies
// them, or with --device cuda:N on a GPU as the turn of a resident node does (bench/lock_turn).
//
// Commands are decided and in memory (of the GPU, as entries of its log) before the clock starts; a
// batch's time runs until all its answers are there: applying in log order, and the host's wait for
// it. No consensus, no network, no hashing of names. Every answer is compared with what it must be,
// on a GPU by the hash of the shard's state after each command. Blocking.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_locks(const BenchOptions& options);

}  // namespace gcoord::bench
