// A run as JSON, for programs, and as a table, for people. Pure.
#pragma once

#include "cli/bench/report/bench_report.h"
#include "cli/terminal/output.h"
#include "common/json/value.h"

namespace gcoord::cli {

// docs/reference/schemas/gcoordctl.json: bench_result.
Json answer_json(const BenchReport& report);

// One column for each system.
Table answer_table(const BenchReport& report);

}  // namespace gcoord::cli
