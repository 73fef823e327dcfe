// Division of a device's multiprocessors between turns and hashing.
//
// A plan is the percent of them that have turns; all of the others hash. Plain functions.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::bench {

// "70,80": plans of 10 to 95 percent, separated by commas. InvalidArgument for anything else.
Result<std::vector<std::uint32_t>> parse_hash_plans(const std::string& text);

}  // namespace gcoord::bench
