// The turn on a GPU: three nodes with a resident kernel each, and what a command costs.
//
// `--device cuda:0` puts all three on one GPU, over loopback channels; with more devices node n
// runs on the n-th of them (again from the first when there are fewer than three), over NVLink.
// Measured are one command at a time from the leader's turn to its application there, a host client
// through its mapped rings, commands committed per second with every leader feeding itself, and how
// long shards are without a leader once a node was found lost. Memory mode: acknowledged is what
// two of three nodes have in their device memory. With --hash, commands per second with and without
// Merkle trees on every replica instead (turn_hash.h). Builds without CUDA answer with one clear
// line.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_turn(const BenchOptions& options);

}  // namespace gcoord::bench
