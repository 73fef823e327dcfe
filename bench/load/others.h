// The other clients of a cluster: a few that lock and unlock names of their own while something
// else is measured, so that it shows what they feel of it.
#pragma once

#include "common/json/value.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::bench {

inline constexpr std::uint32_t kOthers = 16;

// A closed loop of kOthers clients for so long, with names that begin with `when`; as report_load()
// says it. Blocks.
Result<Json> run_others(const std::vector<std::string>& endpoints,
                        std::chrono::milliseconds length,
                        const char* when);

// How many times longer the p99 of their pairs is in the second result than in the first.
double others_ratio(const Json& before, const Json& during);

}  // namespace gcoord::bench
