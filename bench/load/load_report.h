// A load's result as JSON and as one line for people, the same for every system.
#pragma once

#include "bench/load/closed_loop.h"
#include "common/json/value.h"
#include "common/status.h"

#include <cstdint>
#include <string_view>

namespace gcoord::bench {

// {"pairs_per_s", "pair_p50_ms", "pair_p99_ms", "lock_p50_ms", "lock_p99_ms", "errors"}, and a line
// on stderr. Aborted when the load met errors: it says nothing about speed then.
Result<Json> report_load(const LoadResult& result, std::string_view who, std::uint32_t clients);

}  // namespace gcoord::bench
