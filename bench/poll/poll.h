// Polling by kernels: how long a warp that waits for many lanes takes to answer one of them, how
// many slots it takes from all of them, and how long a host and a kernel take to wake each other.
//
// `--device cuda:0` measures lanes within one device; `--device cuda:0,cuda:1` adds lanes over
// NVLink. Every word of every slot is checked, and a run in which one is wrong, or in which
// something was reported that was not there, fails. Builds without CUDA answer with one clear line.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_poll(const BenchOptions& options);

}  // namespace gcoord::bench
