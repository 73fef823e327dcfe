// Benchmark of the history checkers: generated histories of every model, judged whole on one core.
//
// What counts is `seconds`, of the slowest run: every checker over 100,000 operations on 20 keys
// with 16 clients each and 1 % of unknown outcomes, read from memory. `parse_seconds` is what
// reading them as lines of JSON adds. A history with one fault planted near its end is judged too,
// since then every order has to be ruled out: a violation, or undecided at the time bound.
#pragma once

#include "bench/cluster/bench_options.h"

namespace gcoord::bench {

BenchResult bench_check(const BenchOptions& options);

}  // namespace gcoord::bench
