#include "chaos/live/live_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace gcoord::chaos {

namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

bool is_request(const Operation& operation) {
  switch (operation.op) {
    case Op::Acquire:
    case Op::Release:
    case Op::Check:
    case Op::Renew:
      return true;
    default:
      return false;
  }
}

// A wait in line says how long others held the lock.
bool is_timed(const Operation& operation) {
  return operation.op != Op::Acquire || operation.kind != AcquireKind::Wait;
}

float percentile_ms(std::vector<std::uint64_t>& ns, double share) {
  if (ns.empty()) {
    return 0;
  }
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(ns.size() - 1));
  std::nth_element(ns.begin(), ns.begin() + static_cast<std::ptrdiff_t>(rank), ns.end());
  return static_cast<float>(static_cast<double>(ns[rank]) / 1e6);
}

class Windows {
 public:
  explicit Windows(const std::vector<StrikeRecord>& strikes) {
    for (const StrikeRecord& strike : strikes) {
      windows_.emplace_back(strike.from_ns, strike.over_ns);
    }
    std::sort(windows_.begin(), windows_.end());
  }

  // Whether any part of [from, to] lies in a window.
  bool touches(std::uint64_t from, std::uint64_t to) const {
    return std::any_of(windows_.begin(), windows_.end(), [&](const auto& window) {
      return from <= window.second && to >= window.first;
    });
  }

  double seconds_outside(std::uint64_t from, std::uint64_t to) const {
    std::uint64_t inside = 0;
    std::uint64_t covered = from;
    for (const auto& [begin, end] : windows_) {
      const std::uint64_t first = std::max(begin, covered);
      const std::uint64_t last = std::min(end, to);
      if (last > first) {
        inside += last - first;
        covered = last;
      }
    }
    return static_cast<double>(to - from - inside) / 1e9;
  }

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> windows_;
};

void summarize_timeline(const std::vector<Operation>& operations, LiveResult& result) {
  const auto count = static_cast<std::size_t>(std::ceil(result.seconds)) + 1;
  result.timeline.assign(count, {});
  std::vector<std::vector<std::uint64_t>> latencies(count);
  for (const Operation& operation : operations) {
    if (!is_request(operation) || operation.return_ns < result.began_ns) {
      continue;
    }
    const std::size_t second = (operation.return_ns - result.began_ns) / kSecondNs;
    if (second >= count) {
      continue;
    }
    const bool certain = operation.outcome != Outcome::Unknown;
    ++(certain ? result.timeline[second].answered : result.timeline[second].unknown);
    if (certain && is_timed(operation)) {
      latencies[second].push_back(operation.return_ns - operation.call_ns);
    }
  }
  for (std::size_t second = 0; second < count; ++second) {
    result.timeline[second].p50_ms = percentile_ms(latencies[second], 0.5);
    result.timeline[second].p99_ms = percentile_ms(latencies[second], 0.99);
  }
}

Json faults_json(const LiveResult& result) {
  auto faults = Json::object();
  for (const FaultTally& tally : result.tallies) {
    if (tally.skip.empty()) {
      faults[tally.name] = {{"injected", tally.injected}, {"felt", tally.felt}};
      if (tally.full_worst_ms > 0) {
        faults[tally.name]["full_strength_worst_ms"] = std::round(tally.full_worst_ms);
      }
    }
  }
  return faults;
}

Json skipped_json(const LiveResult& result) {
  auto skipped = Json::object();
  for (const FaultTally& tally : result.tallies) {
    if (!tally.skip.empty()) {
      skipped[tally.name] = tally.skip;
    }
  }
  return skipped;
}

}  // namespace

std::uint64_t LiveResult::violations() const {
  std::uint64_t count =
      failures.size() + names_stuck + agreement.shards_different + agreement.shards_behind;
  for (const CheckReport& report : checks.reports) {
    count += report.violations;
  }
  return count;
}

std::uint64_t LiveResult::undecided() const {
  return static_cast<std::uint64_t>(
      std::count_if(checks.reports.begin(), checks.reports.end(), [](const CheckReport& report) {
        return report.verdict == Verdict::Undecided;
      }));
}

std::uint32_t LiveResult::injected() const {
  std::uint32_t count = 0;
  for (const FaultTally& tally : tallies) {
    count += tally.injected;
  }
  return count;
}

void summarize_load(const std::vector<Operation>& operations, LiveResult& result) {
  const Windows windows{result.strikes};
  const auto end_ns = result.began_ns + static_cast<std::uint64_t>(result.seconds * 1e9);
  for (const Operation& operation : operations) {
    result.stale_refused += operation.reason == Reason::Stale ? 1u : 0u;
    if (!is_request(operation)) {
      continue;
    }
    ++result.operations;
    const bool changes = operation.op != Op::Check;
    result.acknowledged += changes && operation.outcome == Outcome::Ok ? 1u : 0u;
    result.unknown += operation.outcome == Outcome::Unknown ? 1u : 0u;
    const bool calm = operation.call_ns >= result.began_ns && operation.call_ns < end_ns &&
                      !windows.touches(operation.call_ns, operation.call_ns);
    if (calm) {
      const bool in_time =
          !is_timed(operation) || operation.return_ns - operation.call_ns <= kSecondNs;
      ++result.calm.asked;
      result.calm.answered += operation.outcome != Outcome::Unknown && in_time ? 1u : 0u;
    }
  }
  result.calm.seconds = windows.seconds_outside(result.began_ns, end_ns);
  if (result.calm.asked > 0 && result.calm.seconds > 0) {
    result.calm.per_s = static_cast<double>(result.calm.answered) / result.calm.seconds;
    result.availability =
        static_cast<double>(result.calm.answered) / static_cast<double>(result.calm.asked);
  }
  summarize_timeline(operations, result);
}

Json to_json(const LiveResult& result, const LiveOptions& options) {
  return {{"violations", result.violations()},
          {"undecided", result.undecided()},
          {"seconds", std::round(result.seconds * 10) / 10},
          {"seed", std::to_string(options.seed)},
          {"nodes", options.nodes},
          {"device", options.place.device_name()},
          {"turn", options.place.resident ? "resident" : "host"},
          {"faults", faults_json(result)},
          {"injections", result.injected()},
          {"skipped", skipped_json(result)},
          {"acknowledged", result.acknowledged},
          {"lost", result.lost},
          {"operations", result.operations},
          {"unknown", result.unknown},
          {"stale_writes_refused", result.stale_refused},
          {"calm_operations_per_s", std::round(result.calm.per_s)},
          {"availability", std::round(result.availability * 1e6) / 1e6},
          {"led_worst_ms", std::round(result.led.worst_ms)},
          {"led_bound_ms", std::round(result.led.bound_ms)},
          {"led_late", result.led.late},
          {"rejoined", result.rejoined},
          {"full_strength_worst_ms", std::round(result.full.worst_ms)},
          {"full_strength_bound_ms", std::round(result.full.bound_ms)},
          {"full_strength_late", result.full.late},
          {"trace_lines", result.checks.trace_lines},
          {"shards_compared", result.agreement.shards_compared},
          {"failures", result.failures},
          {"checks", to_json(result.checks)},
          {"report", options.report.string()},
          {"replay", options.replay}};
}

std::string to_text(const LiveResult& result) {
  std::string text = "\nfault                injected  felt\n";
  for (const FaultTally& tally : result.tallies) {
    text += tally.skip.empty()
                ? fmt::format("{:<20} {:>8}  {}\n", tally.name, tally.injected, tally.felt)
                : fmt::format("{:<20}  SKIPPED  {}\n", tally.name, tally.skip);
  }
  text += "\n" + to_text(result.checks);
  for (const std::string& failure : result.failures) {
    text += "FAILED: " + failure + "\n";
  }
  text += fmt::format(
      "\n{} injections, {} operations, {} acknowledged, {} lost, {} of unknown outcome\n"
      "outside fault windows ({:.0f} s): {:.0f} operations/s, {:.3f} % answered in time\n"
      "after healing every shard was led within {:.0f} ms at worst (bound {:.0f} ms, {} late)\n"
      "{} nodes lost what they had and were back at full strength within {:.0f} ms at worst (bound "
      "{:.0f} ms, {} late)\n"
      "replicas of {} shards: {} differ, {} lag; {} names stuck; {} stale writes refused\n"
      "{} violations, {} undecided\n",
      result.injected(),
      result.operations,
      result.acknowledged,
      result.lost,
      result.unknown,
      result.calm.seconds,
      result.calm.per_s,
      result.availability * 100,
      result.led.worst_ms,
      result.led.bound_ms,
      result.led.late,
      result.rejoined,
      result.full.worst_ms,
      result.full.bound_ms,
      result.full.late,
      result.agreement.shards_compared,
      result.agreement.shards_different,
      result.agreement.shards_behind,
      result.names_stuck,
      result.stale_refused,
      result.violations(),
      result.undecided());
  return text;
}

}  // namespace gcoord::chaos
