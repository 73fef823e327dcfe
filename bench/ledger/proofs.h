// Proofs verified per second on one core: inclusion proofs in trees of several sizes, each with the
// hash of its entry, and whole proof files from JSON up to a checkpoint that all of them share.
//
// Nothing is read from a disk or a node; the proofs lie in memory before the clock starts.
// --seconds bounds each figure. Blocking; one thread.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_proofs(const BenchOptions& options);

}  // namespace gcoord::bench
