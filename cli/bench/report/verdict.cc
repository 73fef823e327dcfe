#include "cli/bench/report/verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace gcoord::cli {

namespace {

// etcdctl/ctlv3/command/check.go of etcd 3.5.
constexpr double kThroughputMin = 0.9;
constexpr std::chrono::milliseconds kSlowestMax{500};
constexpr std::chrono::milliseconds kDeviationMax{100};

double ms(double ns) {
  return ns / 1e6;
}

}  // namespace

const std::vector<StandardLoad>& standard_loads() {
  static const std::vector<StandardLoad> loads{
      {"s", 150, 50}, {"m", 1'000, 200}, {"l", 8'000, 500}, {"xl", 15'000, 1'000}};
  return loads;
}

std::optional<StandardLoad> standard_load(const std::string& name) {
  const auto found = std::ranges::find(standard_loads(), name, &StandardLoad::name);
  return found == standard_loads().end() ? std::nullopt : std::optional{*found};
}

const char* verdict_text(BenchVerdict verdict) {
  switch (verdict) {
    case BenchVerdict::Pass:
      return "PASS";
    case BenchVerdict::Fail:
      return "FAIL";
    case BenchVerdict::Unsure:
      return "UNSURE";
  }
  return "UNSURE";
}

std::vector<BenchCheck> checks_of(const BenchPlan& plan, const OpenLoopResult& result) {
  const double wanted = plan.rate * kThroughputMin;
  const Histogram& latency = result.record.latency();
  const std::uint64_t failed = result.record.errors() + result.record.unfinished();
  return {{"throughput",
           fmt::format("{:.1f}/s", result.answered_per_s()),
           fmt::format("at least {:.0f}/s", wanted),
           result.answered_per_s() >= wanted},
          {"slowest",
           fmt::format("{:.1f} ms", ms(static_cast<double>(latency.max().count()))),
           fmt::format("at most {} ms", kSlowestMax.count()),
           latency.max() <= kSlowestMax},
          {"deviation",
           fmt::format("{:.1f} ms", ms(latency.deviation_ns())),
           fmt::format("at most {} ms", kDeviationMax.count()),
           latency.deviation_ns() <= std::chrono::nanoseconds{kDeviationMax}.count()},
          {"errors",
           fmt::format("{}", failed),
           "none, and nothing unfinished",
           failed == 0 && result.record.answered() > 0}};
}

BenchVerdict verdict_of(const OpenLoopResult& result, const std::vector<BenchCheck>& checks) {
  if (result.stopped) {
    return BenchVerdict::Unsure;
  }
  if (std::ranges::all_of(checks, &BenchCheck::pass)) {
    return BenchVerdict::Pass;
  }
  const Bound bound = result.bound();
  const bool own = bound == Bound::Thread || bound == Bound::Late;
  return own ? BenchVerdict::Unsure : BenchVerdict::Fail;
}

std::string bound_sentence(const OpenLoopResult& result) {
  const double late = ms(static_cast<double>(result.late.at_percent(99).count()));
  switch (result.bound()) {
    case Bound::None:
      return fmt::format(
          "This program was not the bound: it began operations {:.2f} ms late (p99), and its "
          "busiest thread used {:.0f} % of a core.",
          late,
          result.own.busiest_thread * 100);
    case Bound::Late:
      return fmt::format(
          "This program was the bound: it began operations {:.2f} ms late (p99). Run it on a "
          "quieter machine, or with more --threads.",
          late);
    case Bound::Thread:
      return fmt::format(
          "This program was the bound: one of its threads used {:.0f} % of a core. Take more "
          "--connections and --threads, or run it on several machines.",
          result.own.busiest_thread * 100);
    case Bound::Machine:
      return fmt::format(
          "This machine was the bound: all its cores together were {:.0f} % busy, {:.2f} cores of "
          "it by this program. Run it on a machine without nodes.",
          result.own.machine_busy * 100,
          result.own.cores_used);
    case Bound::Clients:
      return fmt::format(
          "The number of clients was the bound: all were busy when {} of {} operations were due. "
          "Take more --clients, unless the load shall be no higher.",
          result.waited_for_client,
          result.due);
  }
  return {};
}

}  // namespace gcoord::cli
