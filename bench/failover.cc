#include "bench/failover.h"

#include "bench/report/results_file.h"
#include "bench/running_cluster.h"
#include "chaos/process/cluster_watch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace gcoord::bench {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// The node whose share of the leaderships is nearest to a third.
std::size_t nearest_to_third(const std::vector<std::uint32_t>& counts, std::uint32_t shards) {
  const auto distance = [&](std::uint32_t count) {
    return std::abs(static_cast<std::int64_t>(count) - static_cast<std::int64_t>(shards / 3));
  };
  const auto nearest = std::min_element(
      counts.begin(), counts.end(), [&](auto a, auto b) { return distance(a) < distance(b); });
  return static_cast<std::size_t>(nearest - counts.begin());
}

Result<ordered_json> kill_once(const BenchOptions& options) {
  GCOORD_TRY(const auto cluster, RunningCluster::start(options, options.shards));
  GCOORD_TRY_STATUS(cluster->await_balance());
  auto ids = cluster->node_ids();
  GCOORD_TRY(const auto counts, chaos::leader_counts(cluster->watcher(), ids));
  const std::size_t victim = nearest_to_third(counts, options.shards);
  const std::uint32_t victim_id = ids[victim];
  ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(victim));
  const auto began = Clock::now();
  cluster->nodes().kill(victim_id);
  GCOORD_TRY(
      const auto took,
      chaos::wait_all_led(cluster->watcher(), began, {.node_ids = ids, .shards = options.shards}));
  std::fprintf(stderr,
               "  killed node %u, which led %u of %u shards: all led again after %lld ms\n",
               victim_id,
               counts[victim],
               options.shards,
               static_cast<long long>(took.count()));
  return ordered_json{
      {"leaders_before", counts}, {"killed", victim_id}, {"failover_ms", took.count()}};
}

}  // namespace

BenchResult bench_failover(const BenchOptions& options) {
  ordered_json runs = ordered_json::array();
  std::vector<double> times;
  for (std::uint32_t number = 0; number < options.runs; ++number) {
    GCOORD_TRY(ordered_json run, kill_once(options));
    times.push_back(run["failover_ms"].get<double>());
    runs.push_back(std::move(run));
  }
  // The default of gcoordd (server/options.h), which the nodes here run with.
  constexpr double kElectionMs = 1000;
  return ordered_json{{"shards", options.shards},
                      {"election_ms", kElectionMs},
                      {"runs", runs},
                      {"failover_ms_max", *std::max_element(times.begin(), times.end())},
                      {"failover_ms", median(times)},
                      {"over_election_ms", median(times) - kElectionMs}};
}

}  // namespace gcoord::bench
