// A histogram in HdrHistogram's own text format (.hgrm): value, percentile, count,
// 1/(1-percentile).
//
// Its plotter and its other tools read it (hdrhistogram.github.io/HdrHistogram/plotFiles.html).
// Values are milliseconds. Pure.
#pragma once

#include "cli/bench/load/histogram.h"

#include <string>

namespace gcoord::cli {

std::string histogram_text(const Histogram& histogram);

}  // namespace gcoord::cli
