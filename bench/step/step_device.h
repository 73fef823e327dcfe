// The pure step on a device: three replicas of every shard on one GPU, messages, storage and
// service in its memory, commands made there as well (chaos/resident).
//
// Measures the turn of a million rows at rest, the turn in which every leader sends and every
// follower answers, and committed 16-byte commands per second. Every figure is of whole turns:
// scan, step, payloads, application. Memory mode: acknowledged means in the memory of a quorum of
// replicas, here three tables on one device in one power domain. Blocking; needs a device.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

// `device` is the number behind "cuda:".
BenchResult bench_step_on_device(const BenchOptions& options, int device);

}  // namespace gcoord::bench
