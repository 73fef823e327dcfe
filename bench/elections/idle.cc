#include "bench/elections/idle.h"

#include "bench/cluster/node_samples.h"
#include "bench/cluster/running_cluster.h"
#include "bench/report/results_file.h"

#include <cstdio>
#include <thread>

namespace gcoord::bench {

namespace {

// So few that per-shard costs vanish beside the per-node ones.
constexpr std::uint32_t kFewShards = 64;

Result<Json> measure(const BenchOptions& options, std::uint32_t shards) {
  GCOORD_TRY(const auto cluster, RunningCluster::start(options, shards));
  GCOORD_TRY_STATUS(cluster->await_balance());
  GCOORD_TRY(const auto before, sample_nodes(*cluster));
  std::this_thread::sleep_for(options.measured);
  GCOORD_TRY(const auto after, sample_nodes(*cluster));
  Json nodes = Json::array();
  double busiest = 0;
  double frames = 0;
  for (std::size_t k = 0; k < before.size(); ++k) {
    nodes.push_back(node_rates(before[k], after[k]));
    busiest = std::max(busiest, number_of(nodes.back()["cpu_percent"]).value());
    frames += number_of(nodes.back()["peer_frames_per_s"]).value();
  }
  std::fprintf(stderr,
               "  %u idle shards: busiest node %.2f %% of a core, %.0f peer frames/s in all\n",
               shards,
               busiest,
               frames);
  return Json{{"shards", shards},
              {"cpu_percent_max", busiest},
              {"peer_frames_per_s", rounded(frames)},
              {"nodes", nodes}};
}

}  // namespace

BenchResult bench_idle(const BenchOptions& options) {
  GCOORD_TRY(Json few, measure(options, kFewShards));
  GCOORD_TRY(Json many, measure(options, options.shards));
  const double growth =
      number_of(many["peer_frames_per_s"]).value() / number_of(few["peer_frames_per_s"]).value();
  const double busiest = number_of(many["cpu_percent_max"]).value();
  return Json{{"seconds", std::chrono::duration<double>(options.measured).count()},
              {"few", std::move(few)},
              {"many", std::move(many)},
              {"peer_frames_growth", rounded(growth)},
              {"shards", options.shards},
              {"cpu_percent_max", busiest}};
}

}  // namespace gcoord::bench
