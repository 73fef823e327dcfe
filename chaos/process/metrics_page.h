// A node's page of metrics, and sums of what it says.
//
// Reading blocks, by a deadline. Thread-safe.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::chaos {

// The page at this port of loopback. Unavailable: no node answers there, or not with a page.
Result<std::string> read_metrics_page(std::uint16_t metrics_port);

// The sum of all samples whose line begins so: "name " of a metric without labels, "name{" of any
// labels, or with labels written out.
std::uint64_t sum_of_samples(std::string_view page, std::string_view beginning);

}  // namespace gcoord::chaos
