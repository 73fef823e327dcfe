// The device channel: how many slots and bytes cross it, and how long one slot takes there and
// back.
//
// `--device cuda:0` measures within one GPU (loopback) and between the GPU and the host (proxy);
// `--device cuda:0,cuda:1` adds two processes with a GPU each, over NVLink. Every word that
// arrives is recomputed by the receiver; a run with a wrong one fails. What is measured is
// transport: nothing is persisted, and a slot counts when its receiver has read it. Rates are from
// the first slot received to the last, on the receiver's clock. Builds without CUDA answer with one
// clear line.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_channel(const BenchOptions& options);

}  // namespace gcoord::bench
