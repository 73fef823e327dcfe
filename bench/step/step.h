// The pure step alone, on one core: three replicas of many shards in one process, messages handed
// over in memory, storage that is always quick. What remains is the step and what feeds it. With
// BenchOptions::device cuda:N the same on a GPU instead (step_device.h).
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_step(const BenchOptions& options);

}  // namespace gcoord::bench
