// The ticket lock between GPUs: how many times a second it goes from one warp to the next, and how
// long one hand-over takes.
//
// `--device cuda:0` measures warps of one device, with the lock for that device alone and with the
// one that other devices may share; `--device cuda:0,cuda:1` adds warps of two devices at one lock,
// in the first one's memory, over NVLink. Each hold adds to words that nothing else protects, and a
// run in which one addition was lost fails. Builds without CUDA answer with one clear line.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_ticket(const BenchOptions& options);

}  // namespace gcoord::bench
