// A run as CSV (RFC 4180): one line for each interval of each system. Pure.
#pragma once

#include "cli/bench/report/bench_report.h"

#include <string>

namespace gcoord::cli {

// target,operation,from_s,to_s,due,answered,errors,p50_ms,p90_ms,p99_ms,max_ms; lines end with a
// line feed. What ended after the last interval is in it.
std::string report_csv(const BenchReport& report);

// A field, in quotes where it must be.
std::string csv_field(const std::string& text);

}  // namespace gcoord::cli
