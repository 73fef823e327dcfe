// A run as one HTML page with plots, which needs no network and no scripts; light and dark. Pure.
#pragma once

#include "cli/bench/report/bench_report.h"

#include <string>

namespace gcoord::cli {

// A whole document: the verdict, plots over time and by percentile, figures, failures, the method.
std::string report_page(const BenchReport& report);

}  // namespace gcoord::cli
