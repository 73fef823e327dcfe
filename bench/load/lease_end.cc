#include "bench/load/lease_end.h"

#include "bench/report/latencies.h"
#include "bench/report/results_file.h"

#include <algorithm>

namespace gcoord::bench {

namespace {

using Clock = std::chrono::steady_clock;

std::int64_t ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count();
}

std::uint64_t all_of(const LeaseEnds& ends) {
  std::uint64_t all = 0;
  for (const LeaseEnds::Due& due : ends.due) {
    all += due.count;
  }
  return all;
}

// The lateness of every lease, in the order of their ends.
Latencies lateness(const LeaseEnds& ends) {
  const std::uint64_t all = all_of(ends);
  Latencies late(all);
  auto look = ends.left.begin();
  std::uint64_t ended = 0;
  for (const LeaseEnds::Due& due : ends.due) {
    for (std::uint64_t k = 0; k < due.count; ++k, ++ended) {
      while (look != ends.left.end() && all - std::min(all, look->left) <= ended) {
        ++look;
      }
      const auto at = look == ends.left.end() ? ends.left.back().at : look->at;
      late.add(std::max(Clock::duration{0}, at - due.at));
    }
  }
  return late;
}

// How many more had ended at a look than were due.
std::uint64_t early_max(const LeaseEnds& ends) {
  const std::uint64_t all = all_of(ends);
  std::uint64_t early = 0;
  for (const LeaseEnds::Sample& sample : ends.left) {
    std::uint64_t due = 0;
    for (const LeaseEnds::Due& each : ends.due) {
      due += each.at <= sample.at ? each.count : 0;
    }
    const std::uint64_t ended = all - std::min(all, sample.left);
    early = std::max(early, ended > due ? ended - due : 0);
  }
  return early;
}

}  // namespace

Json report_ends(const LeaseEnds& ends) {
  const Latencies late = lateness(ends);
  Json series = Json::array();
  std::uint64_t shown = ~std::uint64_t{0};
  for (const LeaseEnds::Sample& sample : ends.left) {
    if (sample.left != shown) {
      series.push_back({ms_between(ends.due.front().at, sample.at), sample.left});
      shown = sample.left;
    }
  }
  return {{"late_ms_p50", rounded(late.at_ms(0.5))},
          {"late_ms_p99", rounded(late.at_ms(0.99))},
          {"late_ms_max", rounded(late.at_ms(1))},
          {"early_max", early_max(ends)},
          {"due_within_ms", ms_between(ends.due.front().at, ends.due.back().at)},
          {"left_by_ms", std::move(series)}};
}

}  // namespace gcoord::bench
