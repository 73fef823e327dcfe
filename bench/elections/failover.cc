#include "bench/elections/failover.h"

#include "bench/cluster/running_cluster.h"
#include "bench/report/results_file.h"
#include "chaos/process/cluster_watch.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::bench {

namespace {

using Clock = std::chrono::steady_clock;

// Whether another node runs on the device of this one.
bool shares_device(const std::vector<std::string>& devices, std::size_t node) {
  const std::string& own = devices[node];
  return std::count(devices.begin(), devices.end(), own) > 1;
}

// The node whose share of the leaderships is nearest to a third; of nodes that share a device, if
// there are any, so that those that live have their devices to themselves if they can.
std::size_t victim_of(const std::vector<std::uint32_t>& counts,
                      const std::vector<std::string>& devices,
                      std::uint32_t shards) {
  const auto badness = [&](std::size_t node) {
    const auto distance =
        std::abs(static_cast<std::int64_t>(counts[node]) - static_cast<std::int64_t>(shards / 3));
    return std::pair{!shares_device(devices, node), distance};
  };
  std::size_t best = 0;
  for (std::size_t node = 1; node < counts.size(); ++node) {
    best = badness(node) < badness(best) ? node : best;
  }
  return best;
}

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Takeover {
  double none_ms = 0;   // When the last look began at which the others led no more than before.
  double first_ms = 0;  // The first one at which they did.
  double all_ms = 0;    // When they led all.
  double poll_ms = 0;   // The longest time between two looks.
  Json led = Json::array();  // [ms, shards led by the others], when it changes.
};

// Asks the nodes that live without pause: what their hosts know, behind what their devices do.
Result<Takeover> watch_takeover(RunningCluster& cluster,
                                const std::vector<std::uint32_t>& living,
                                std::uint32_t led_before,
                                Clock::time_point killed) {
  constexpr double kTimeoutMs = 60'000;
  constexpr double kSeriesMs = 20;
  Takeover seen;
  double noted = 0;
  for (double before = ms_since(killed); before < kTimeoutMs;) {
    GCOORD_TRY(const auto counts, chaos::leader_counts(cluster.watcher(), living));
    const double now = ms_since(killed);
    const double asked = std::exchange(before, now);
    seen.poll_ms = std::max(seen.poll_ms, now - asked);
    const auto led = std::accumulate(counts.begin(), counts.end(), std::uint32_t{0});
    const bool moved = seen.led.empty() || unsigned_of(seen.led.back()[1]) != led;
    const bool whole = led == cluster.nodes().shards();
    if (moved && (whole || now - noted >= kSeriesMs)) {
      seen.led.push_back({std::round(now), led});
      noted = now;
    }
    if (led > led_before && seen.first_ms == 0) {
      seen.first_ms = now;
    } else if (seen.first_ms == 0) {
      seen.none_ms = asked;
    }
    if (whole) {
      seen.all_ms = now;
      return seen;
    }
  }
  return Status{StatusCode::DeadlineExceeded, "the nodes left did not come to lead all shards"};
}

Result<Json> kill_once(const BenchOptions& options) {
  GCOORD_TRY(const auto cluster, RunningCluster::start(options, options.shards));
  GCOORD_TRY_STATUS(cluster->await_balance());
  auto ids = cluster->node_ids();
  GCOORD_TRY(const auto counts, chaos::leader_counts(cluster->watcher(), ids));
  const std::size_t victim =
      victim_of(counts, devices_of_nodes(options.device, counts.size()), options.shards);
  const std::uint32_t victim_id = ids[victim];
  ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(victim));
  const auto began = Clock::now();
  cluster->nodes().kill(victim_id);
  GCOORD_TRY(const auto took,
             watch_takeover(*cluster, ids, options.shards - counts[victim], began));
  std::fprintf(stderr,
               "  killed node %u, which led %u of %u shards: the others began to lead them after "
               "%.1f ms, led all after %.1f ms\n",
               victim_id,
               counts[victim],
               options.shards,
               took.first_ms,
               took.all_ms);
  return Json{
      {"leaders_before", counts},
      {"killed", victim_id},
      {"ready_ms", cluster->ready_after().count()},
      {"none_led_ms", took.none_ms},
      {"first_led_ms", took.first_ms},
      {"failover_ms", took.all_ms},
      {"takeover_ms", took.all_ms - took.none_ms},  // At most: it began after that look did.
      {"longest_poll_ms", took.poll_ms},
      {"led_by_others", took.led}};
}

}  // namespace

BenchResult bench_failover(const BenchOptions& options) {
  Json runs = Json::array();
  std::vector<double> times;
  std::vector<double> takeovers;
  for (std::uint32_t number = 0; number < options.runs; ++number) {
    GCOORD_TRY(Json run, kill_once(options));
    times.push_back(number_of(run["failover_ms"]).value());
    takeovers.push_back(number_of(run["takeover_ms"]).value());
    runs.push_back(std::move(run));
  }
  // The default of gcoordd (server/options/options.h), which the nodes here run with.
  constexpr double kElectionMs = 1000;
  return Json{{"shards", options.shards},
              {"device", options.device},
              {"turn", options.turn},
              {"durability", options.durability},
              {"tick_ms", options.tick_ms},
              {"election_ms", kElectionMs},
              {"runs", runs},
              {"failover_ms_max", *std::max_element(times.begin(), times.end())},
              {"failover_ms", median(times)},
              {"takeover_ms", median(takeovers)},
              {"over_election_ms", median(times) - kElectionMs}};
}

}  // namespace gcoord::bench
