// One run of an open loop as a verb: connects, measures, prints, writes the files.
#pragma once

#include "cli/bench/flags.h"

namespace gcoord::cli {

// The exit code: 0 when all was answered, or the verdict is PASS; 1 when not; 5 when nothing was;
// 128 and the signal when it was stopped, with the partial result.
int bench_open(Context& context, const BenchFlags& flags);

}  // namespace gcoord::cli
