// Figures out of a merged history, and the demo's result as JSON and as a few lines for people.
// Pure.
#pragma once

#include "chaos/check/checks.h"
#include "chaos/check/operation.h"
#include "chaos/demo/demo.h"
#include "common/json/value.h"

#include <string>
#include <vector>

namespace gcoord::chaos {

// Counts, rates and percentiles of the load; `result.seconds` is read, the rest of them written.
// An acquire that did not wait in line is what the percentiles are of.
void summarize_history(const std::vector<Operation>& operations, DemoResult& result);

// What the checkers found.
void summarize_checks(const CheckSummary& summary, DemoResult& result);

// The object of the demo's last line.
Json to_json(const DemoResult& result);

// The node table, the figures, and the "checked" line.
std::string to_text(const DemoResult& result);

}  // namespace gcoord::chaos
