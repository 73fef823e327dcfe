#include "bench/cluster/running_cluster.h"
#include "bench/elections/idle.h"
#include "bench/report/results_file.h"
#include "chaos/process/resource_usage.h"

#include <cstdio>
#include <thread>

namespace gcoord::bench {

namespace {

using Clock = std::chrono::steady_clock;

// An idle node still writes what changed into its checkpoint (every 30 s) and then gives memory
// back: it is at rest when its resident set has stood still for so long.
constexpr std::chrono::seconds kRestPoll{1};
constexpr std::uint32_t kRestPolls = 12;
constexpr std::uint32_t kRestPollsMax = 120;

// The base of the subtraction that leaves what a shard costs.
constexpr std::uint32_t kFewShards = 1024;

// The largest of the nodes' resident sets, once the cluster is idle.
Result<std::uint64_t> resident_bytes(const RunningCluster& cluster) {
  std::uint64_t largest = 0;
  for (const std::uint32_t node_id : cluster.node_ids()) {
    GCOORD_TRY(const auto usage, chaos::resource_usage(cluster.nodes().pid(node_id)));
    largest = std::max(largest, usage.resident_bytes);
  }
  return largest;
}

// The same, once it stands still.
Result<std::uint64_t> resident_bytes_at_rest(RunningCluster& cluster) {
  GCOORD_TRY_STATUS(cluster.await_balance());
  GCOORD_TRY(std::uint64_t last, resident_bytes(cluster));
  std::uint32_t still = 0;
  for (std::uint32_t poll = 0; poll < kRestPollsMax && still < kRestPolls; ++poll) {
    std::this_thread::sleep_for(kRestPoll);
    GCOORD_TRY(const std::uint64_t now, resident_bytes(cluster));
    const std::uint64_t change = now > last ? now - last : last - now;
    still = change < last / 200 ? still + 1 : 0;
    last = now;
  }
  return last;
}

// Ends one node as a crash does and starts it again on what it had.
Result<double> restart_seconds(RunningCluster& cluster, std::uint32_t node_id) {
  cluster.nodes().kill(node_id);
  const auto began = Clock::now();
  GCOORD_TRY_STATUS(cluster.nodes().spawn(node_id));
  GCOORD_TRY_STATUS(cluster.nodes().wait_serving(node_id, kStartTimeout));
  return std::chrono::duration<double>(Clock::now() - began).count();
}

Result<std::uint64_t> base_bytes(const BenchOptions& options) {
  GCOORD_TRY(const auto cluster, RunningCluster::start(options, kFewShards));
  return resident_bytes_at_rest(*cluster);
}

}  // namespace

BenchResult bench_scale(const BenchOptions& options) {
  GCOORD_TRY(const std::uint64_t base, base_bytes(options));
  GCOORD_TRY(const auto cluster, RunningCluster::start(options, options.shards));
  GCOORD_TRY(const std::uint64_t full, resident_bytes_at_rest(*cluster));
  GCOORD_TRY(const double restarted, restart_seconds(*cluster, 3));
  const double per_shard = (static_cast<double>(full) - static_cast<double>(base)) /
                           static_cast<double>(options.shards - kFewShards);
  std::fprintf(stderr,
               "  %u shards: %.0f bytes resident per replica, restart in %.2f s\n",
               options.shards,
               per_shard,
               restarted);
  return Json{
      {"shards", options.shards},
      {"base_shards", kFewShards},
      {"base_resident_bytes", std::to_string(base)},
      {"resident_bytes", std::to_string(full)},
      {"three_nodes_at_once_ready_s", static_cast<double>(cluster->ready_after().count()) / 1000},
      {"three_nodes_at_once_led_s", static_cast<double>(cluster->led_after().count()) / 1000},
      {"start_s", rounded(restarted)},
      {"bytes_per_idle_replica", rounded(per_shard)}};
}

}  // namespace gcoord::bench
