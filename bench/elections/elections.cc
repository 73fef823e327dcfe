#include "bench/elections/elections.h"

#include "bench/cluster/running_cluster.h"
#include "bench/report/metrics_scrape.h"
#include "bench/report/results_file.h"
#include "chaos/process/cluster_watch.h"
#include "chaos/process/own_path.h"
#include "common/comma_list.h"
#include "common/host/child_process.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>

namespace gcoord::bench {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint32_t kProcesses = 3;
// So many that no session waits in one shard for more than its window has room for.
constexpr std::uint32_t kSessions = 16;
constexpr std::uint32_t kTtlMs = 10'000;
constexpr std::chrono::minutes kPatience{10};
constexpr milliseconds kPoll{100};

Status failed(const std::string& what) {
  return Status{StatusCode::DeadlineExceeded, what};
}

// The candidates' processes.
class Electors {
 public:
  Electors(const RunningCluster& cluster, std::uint32_t names) : cluster_(cluster), names_(names) {}

  Status start() {
    const std::string endpoints = comma_list(cluster_.nodes().endpoints());
    for (std::uint32_t part = 0; part < kProcesses; ++part) {
      ChildOptions options;
      options.arguments = {chaos::program_beside("gcoord-elector").string(),
                           endpoints,
                           file(part),
                           std::to_string(part),
                           std::to_string(names_),
                           std::to_string(kSessions),
                           std::to_string(kTtlMs)};
      options.capture_output = true;
      GCOORD_TRY(auto child, ChildProcess::start(options));
      children_.push_back(std::move(child));
    }
    return Status{};
  }

  // A line of one of them, or of all that run.
  Status await(std::uint32_t part, const std::string& line) {
    const auto said = children_[part].read_line(kPatience);
    return said == line ? Status{}
                        : failed("candidates " + std::to_string(part) + " did not say '" + line +
                                 "' but '" + said.value_or("") + "'");
  }

  Status await_all(const std::string& line) {
    for (std::uint32_t part = 0; part < kProcesses; ++part) {
      if (children_[part].running()) {
        GCOORD_TRY_STATUS(await(part, line));
      }
    }
    return Status{};
  }

  void signal_all() {
    for (ChildProcess& child : children_) {
      child.signal(SIGUSR1);
    }
  }

  void kill(std::uint32_t part) { children_[part].kill_now(); }

  // The times that a process wrote, in milliseconds after `began`, in order.
  std::vector<double> times(std::uint32_t part, const std::string& kind, Clock::time_point began) {
    std::vector<double> result;
    std::ifstream in{file(part) + "-" + kind, std::ios::binary};
    const auto start = static_cast<std::int64_t>(began.time_since_epoch().count());
    for (std::int64_t at = 0; in.read(reinterpret_cast<char*>(&at), sizeof(at));) {
      result.push_back(static_cast<double>(at - start) / 1e6);
    }
    return result;
  }

 private:
  std::string file(std::uint32_t part) const {
    return (cluster_.nodes().directory() / ("elector-" + std::to_string(part))).string();
  }

  const RunningCluster& cluster_;
  std::uint32_t names_;
  std::vector<ChildProcess> children_;
};

Json quantiles(std::vector<double> times) {
  std::ranges::sort(times);
  const auto at = [&](double share) {
    const auto place = static_cast<std::size_t>(share * static_cast<double>(times.size()));
    return times.empty() ? 0.0 : rounded(times[std::min(place, times.size() - 1)]);
  };
  return {{"count", times.size()},
          {"min_ms", at(0)},
          {"p50_ms", at(0.5)},
          {"p99_ms", at(0.99)},
          {"max_ms", at(1)}};
}

Result<double> sum_of(const RunningCluster& cluster, const std::string& metric) {
  double sum = 0;
  for (const std::uint32_t id : cluster.node_ids()) {
    if (cluster.nodes().running(id)) {
      GCOORD_TRY(const auto metrics, scrape_metrics(cluster.nodes().metrics_port(id)));
      const auto found = metrics.find(metric);
      sum += found == metrics.end() ? 0 : found->second;
    }
  }
  return sum;
}

Status await_waits(const RunningCluster& cluster, std::uint32_t waits) {
  const auto until = Clock::now() + kPatience;
  while (Clock::now() < until) {
    GCOORD_TRY(const double sum, sum_of(cluster, "gcoord_server_waits"));
    if (sum >= waits) {
      return Status{};
    }
    std::this_thread::sleep_for(kPoll);
  }
  return failed("not all candidates came to stand in line");
}

// The process of part 0 is killed; that of part 1 stands in line for its names.
Result<Json> kill_client(Electors& electors) {
  const auto began = Clock::now();
  electors.kill(0);
  GCOORD_TRY_STATUS(electors.await(1, "elected"));
  Json result = quantiles(electors.times(1, "elected", began));
  result["ttl_ms"] = kTtlMs;
  return result;
}

Result<Json> kill_node(RunningCluster& cluster, Electors& electors) {
  GCOORD_TRY_STATUS(cluster.await_balance());
  const auto began = Clock::now();
  cluster.nodes().kill(1);
  electors.signal_all();
  GCOORD_TRY(
      const auto led,
      chaos::wait_all_led(
          cluster.watcher(), began, {.node_ids = {2, 3}, .shards = cluster.nodes().shards()}));
  GCOORD_TRY_STATUS(electors.await_all("asked"));
  GCOORD_TRY_STATUS(electors.await_all("answered"));
  std::vector<double> times = electors.times(1, "answered", began);
  const std::vector<double> others = electors.times(2, "answered", began);
  times.insert(times.end(), others.begin(), others.end());
  Json result = quantiles(times);
  result["shards_led_after_ms"] = led.count();
  return result;
}

Result<Json> run_once(const BenchOptions& options, std::uint32_t names) {
  GCOORD_TRY(const auto cluster, RunningCluster::start(options, options.shards));
  GCOORD_TRY_STATUS(cluster->await_balance());
  Electors electors{*cluster, names};
  const auto began = Clock::now();
  GCOORD_TRY_STATUS(electors.start());
  GCOORD_TRY_STATUS(electors.await_all("led"));
  const auto led = Clock::now();
  electors.signal_all();
  GCOORD_TRY_STATUS(electors.await_all("standing"));
  GCOORD_TRY_STATUS(await_waits(*cluster, names));
  const auto stood = Clock::now();
  const auto seconds = [](auto from, auto to) {
    return rounded(std::chrono::duration<double>(to - from).count());
  };
  std::fprintf(stderr,
               "  %u elections led after %.1f s, all with a successor after %.1f s more\n",
               names,
               seconds(began, led),
               seconds(led, stood));
  GCOORD_TRY(const Json client, kill_client(electors));
  std::fprintf(stderr, "  killed one process of candidates: %s\n", client.dump().c_str());
  GCOORD_TRY(const Json node, kill_node(*cluster, electors));
  std::fprintf(stderr, "  killed one node: %s\n", node.dump().c_str());
  return Json{{"led_after_s", seconds(began, led)},
              {"stood_after_s", seconds(led, stood)},
              {"client_killed", client},
              {"node_killed", node}};
}

}  // namespace

BenchResult bench_elections(const BenchOptions& options) {
  constexpr std::uint32_t kNames = 1'000'000;
  const std::uint32_t names = std::min(options.names, kNames);
  Json runs = Json::array();
  for (std::uint32_t number = 0; number < options.runs; ++number) {
    GCOORD_TRY(Json run, run_once(options, names));
    runs.push_back(std::move(run));
  }
  // The default of gcoordd (server/options/options.h), which the nodes here run with.
  constexpr std::uint32_t kElectionMs = 1000;
  return Json{{"elections", names},
              {"shards", options.shards},
              {"sessions_per_process", kSessions},
              {"election_ms", kElectionMs},
              {"runs", runs}};
}

}  // namespace gcoord::bench
