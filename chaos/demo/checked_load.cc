#include "chaos/demo/checked_load.h"

#include "chaos/process/run_times.h"
#include "common/comma_list.h"
#include "common/random.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace gcoord::chaos {

namespace {

constexpr std::uint32_t kLanes = 16;
// A round of a lane: acquire, release, and now and then a check or two.
constexpr double kOperationsPerRound = 2.15;

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

CheckedLoad::CheckedLoad(CheckedLoadOptions options)
    : options_(std::move(options)), workers_(options_.directory / "clients.log") {}

std::filesystem::path CheckedLoad::history_file(std::uint32_t worker) const {
  return options_.directory / fmt::format("history-{}.jsonl", worker);
}

Status CheckedLoad::start(const EndpointsOf& endpoints_of) {
  const double rounds = options_.rate / kOperationsPerRound;
  const auto round_us =
      static_cast<std::uint64_t>(1e6 * options_.clients * kLanes / std::max(rounds, 1.0));
  for (std::uint32_t number = 1; number <= options_.clients; ++number) {
    std::vector<std::string> arguments = options_.worker_command;
    for (const auto& [flag, value] : std::vector<std::pair<std::string, std::string>>{
             {"--endpoints", comma_list(endpoints_of(number))},
             {"--history", history_file(number).string()},
             {"--number", std::to_string(number)},
             {"--lanes", std::to_string(kLanes)},
             {"--seed", std::to_string(mix64(options_.seed + number))},
             {"--round-us", std::to_string(round_us)},
             {"--session-ttl-ms", std::to_string(options_.session_ttl.count())},
             {"--store", (options_.directory / "guarded-store").string()},
             {"--length-ms", std::to_string(options_.length.count())}}) {
      arguments.insert(arguments.end(), {flag, value});
    }
    GCOORD_TRY_STATUS(workers_.start(std::move(arguments)));
  }
  GCOORD_TRY_STATUS(workers_.await_ready(kRunTimes.start));
  say(fmt::format("load: {} client processes ask for {} operations/s; seed {}",
                  options_.clients,
                  options_.rate,
                  options_.seed));
  return Status{};
}

Status CheckedLoad::read(History& histories) const {
  for (std::uint32_t number = 1; number <= options_.clients; ++number) {
    GCOORD_TRY_STATUS(read_history(history_file(number), histories));
  }
  return Status{};
}

Result<CheckSummary> judge_run(const LocalCluster& cluster, const History& histories) {
  Trace trace;
  for (const auto& [file, memory] : cluster.trace_files()) {
    GCOORD_TRY_STATUS(read_trace(file, trace, memory));
  }
  say(fmt::format(
      "judge {} operations and {} trace lines", histories.operations.size(), trace.lines.size()));
  LinearOptions linear;
  linear.bounds.time_max = std::chrono::minutes{5};
  return check_run(histories, trace, linear);
}

}  // namespace gcoord::chaos
