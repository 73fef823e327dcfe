#include "bench/locks/pairs.h"

#include "bench/cluster/node_samples.h"
#include "bench/cluster/running_cluster.h"
#include "bench/load/gcoord_target.h"
#include "bench/load/load_report.h"
#include "bench/report/results_file.h"
#include "chaos/process/resource_usage.h"

#include <unistd.h>

#include <algorithm>

namespace gcoord::bench {

namespace {

// One client shows the latency, the last ones how far batches carry.
std::vector<std::uint32_t> client_counts(std::uint32_t most) {
  std::vector<std::uint32_t> counts;
  for (std::uint32_t count = 1; count < most; count *= 4) {
    counts.push_back(count);
  }
  counts.push_back(most);
  return counts;
}

Result<Json> measure(RunningCluster& cluster, const BenchOptions& options, std::uint32_t clients) {
  GCOORD_TRY(const auto before, sample_nodes(cluster));
  GCOORD_TRY(const auto own_before, chaos::resource_usage(getpid()));
  GCOORD_TRY(const LoadResult result,
             run_gcoord({.endpoints = cluster.nodes().endpoints(),
                         .clients = clients,
                         .name_prefix = "pairs-" + std::to_string(clients),
                         .one_session = options.one_session},
                        {.measured = options.measured}));
  GCOORD_TRY(const auto own_after, chaos::resource_usage(getpid()));
  GCOORD_TRY(const auto after, sample_nodes(cluster));
  GCOORD_TRY(Json json, report_load(result, "gcoord", clients));
  const double commands = std::max(1.0, entries_between(before.front(), after.front()));
  Json nodes = Json::array();
  for (std::size_t k = 0; k < before.size(); ++k) {
    nodes.push_back(node_rates(before[k], after[k]));
    nodes.back()["cpu_us_per_command"] = cpu_us_for_each(before[k].usage, after[k].usage, commands);
  }
  json["clients"] = clients;
  json["client_cpu_us_per_command"] = cpu_us_for_each(own_before, own_after, commands);
  json["nodes"] = std::move(nodes);
  return json;
}

}  // namespace

BenchResult bench_pairs(const BenchOptions& options) {
  GCOORD_TRY(const auto cluster, RunningCluster::start(options, options.shards));
  Json loads = Json::array();
  for (const std::uint32_t clients : client_counts(options.clients)) {
    GCOORD_TRY(Json load, measure(*cluster, options, clients));
    loads.push_back(std::move(load));
  }
  const double most = number_of(loads.back()["pairs_per_s"]).value();
  const bool memory = options.durability == "memory";
  return Json{{"durability", options.durability},
              {"acknowledged",
               memory ? "in the memory of a quorum of three nodes on one machine"
                      : "on stable storage (fdatasync) of a quorum of three nodes"},
              {"seconds", std::chrono::duration<double>(options.measured).count()},
              {"shards", options.shards},
              {"one_session", options.one_session},
              {"loads", std::move(loads)},
              {"pairs_per_s", most}};
}

}  // namespace gcoord::bench
