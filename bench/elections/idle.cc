#include "bench/elections/idle.h"

#include "bench/cluster/node_samples.h"
#include "bench/cluster/running_cluster.h"
#include "bench/report/results_file.h"

#include <cstdio>
#include <thread>

namespace gcoord::bench {

namespace {

using nlohmann::ordered_json;

// So few that per-shard costs vanish beside the per-node ones.
constexpr std::uint32_t kFewShards = 64;

Result<ordered_json> measure(const BenchOptions& options, std::uint32_t shards) {
  GCOORD_TRY(const auto cluster, RunningCluster::start(options, shards));
  GCOORD_TRY_STATUS(cluster->await_balance());
  GCOORD_TRY(const auto before, sample_nodes(*cluster));
  std::this_thread::sleep_for(options.measured);
  GCOORD_TRY(const auto after, sample_nodes(*cluster));
  ordered_json nodes = ordered_json::array();
  double busiest = 0;
  double frames = 0;
  for (std::size_t k = 0; k < before.size(); ++k) {
    nodes.push_back(node_rates(before[k], after[k]));
    busiest = std::max(busiest, nodes.back()["cpu_percent"].get<double>());
    frames += nodes.back()["peer_frames_per_s"].get<double>();
  }
  std::fprintf(stderr,
               "  %u idle shards: busiest node %.2f %% of a core, %.0f peer frames/s in all\n",
               shards,
               busiest,
               frames);
  return ordered_json{{"shards", shards},
                      {"cpu_percent_max", busiest},
                      {"peer_frames_per_s", rounded(frames)},
                      {"nodes", nodes}};
}

}  // namespace

BenchResult bench_idle(const BenchOptions& options) {
  GCOORD_TRY(ordered_json few, measure(options, kFewShards));
  GCOORD_TRY(ordered_json many, measure(options, options.shards));
  const double growth =
      many["peer_frames_per_s"].get<double>() / few["peer_frames_per_s"].get<double>();
  const double busiest = many["cpu_percent_max"];
  return ordered_json{{"seconds", std::chrono::duration<double>(options.measured).count()},
                      {"few", std::move(few)},
                      {"many", std::move(many)},
                      {"peer_frames_growth", rounded(growth)},
                      {"shards", options.shards},
                      {"cpu_percent_max", busiest}};
}

}  // namespace gcoord::bench
