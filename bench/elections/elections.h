// Very many elections at once: how long until all of them have a leader again after the kill -9 of
// the client process that leads a third of them, and until all answer again after that of a node.
//
// Three nodes, and three processes of candidates (bench/elector/elector.cc). Each leads a third
// of the names, and waits in line for another third, so that every election has one successor.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_elections(const BenchOptions& options);

}  // namespace gcoord::bench
