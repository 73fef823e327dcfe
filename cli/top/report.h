// A sample for programs and for what is no terminal: one JSON object, or plain tables. Pure; any
// thread.
#pragma once

#include "cli/terminal/output.h"
#include "cli/top/columns.h"
#include "cli/top/samples/model.h"
#include "common/json/value.h"

#include <chrono>
#include <vector>

namespace gcoord::cli::top {

// docs/reference/schemas/gcoordctl.json has the members.
Json sample_json(const Model& model, Sorting sorting);

// Nodes with all their columns, and the names that changed most since the sample before.
std::vector<Table> sample_tables(const Model& model,
                                 Sorting sorting,
                                 std::chrono::milliseconds interval);

}  // namespace gcoord::cli::top
