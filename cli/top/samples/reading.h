// The answers of one node at one moment: its status report and its page of metrics.
//
// Reports are from outside: a member may be absent, as in those of older nodes, or of a wrong type,
// and then counts as unknown. Pure; one thread.
#pragma once

#include "cli/top/samples/metrics_page.h"
#include "common/json/value.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gcoord::cli::top {

struct NodeReading {
  std::uint32_t node = 0;
  std::string endpoint;
  std::uint64_t at_ms = 0;    // When it answered; milliseconds of a clock that only rises.
  std::string error;          // Why there is no report; empty when there is one.
  Json report;                // As the node gave it.
  MetricsPage page;           // Empty without one.
  std::string metrics_error;  // Why there is no page; empty when there is one.

  bool answered() const { return error.empty(); }

  // A number of the report, as a number or as digits; `group` is empty for one of the outermost.
  std::optional<double> number(std::string_view group, std::string_view name) const;
};

// Whether the node is in the same life as before, so that its counters go on.
bool same_life(const NodeReading& before, const NodeReading& now);

}  // namespace gcoord::cli::top
