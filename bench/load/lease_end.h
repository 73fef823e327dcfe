// Lateness of lease expirations against their known due times.
//
// What is known is how many were left at each look, not which. The order in which they end is taken
// to be the order in which they were due, so the k-th end is set against the k-th due time; ends
// ahead of that are counted apart, as early. Pure.
#pragma once

#include "common/json/value.h"

#include <chrono>
#include <cstdint>
#include <vector>

namespace gcoord::bench {

struct LeaseEnds {
  struct Due {
    std::chrono::steady_clock::time_point at;
    std::uint64_t count = 0;
  };

  struct Sample {
    std::chrono::steady_clock::time_point at;
    std::uint64_t left = 0;
  };

  std::vector<Due> due;      // By rising time.
  std::vector<Sample> left;  // The same; the last sample found none.
};

// {"late_ms_p50", "late_ms_p99", "late_ms_max", "early_max", "due_within_ms", "left_by_ms"}: the
// last a series of [milliseconds after the first was due, left].
Json report_ends(const LeaseEnds& ends);

}  // namespace gcoord::bench
