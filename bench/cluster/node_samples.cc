#include "bench/cluster/node_samples.h"

#include "bench/report/results_file.h"

namespace gcoord::bench {

namespace {

double seconds_between(const NodeSample& before, const NodeSample& after) {
  return std::chrono::duration<double>(after.at - before.at).count();
}

double grown(const NodeSample& before, const NodeSample& after, const char* metric) {
  const auto value = [&](const NodeSample& sample) {
    const auto found = sample.metrics.find(metric);
    return found == sample.metrics.end() ? 0.0 : found->second;
  };
  return value(after) - value(before);
}

double rate(const NodeSample& before, const NodeSample& after, const char* metric) {
  return rounded(grown(before, after, metric) / seconds_between(before, after));
}

}  // namespace

Result<std::vector<NodeSample>> sample_nodes(const RunningCluster& cluster) {
  std::vector<NodeSample> samples;
  for (const std::uint32_t node_id : cluster.node_ids()) {
    NodeSample sample;
    GCOORD_TRY(sample.metrics, scrape_metrics(cluster.nodes().metrics_port(node_id)));
    GCOORD_TRY(sample.usage, chaos::resource_usage(cluster.nodes().pid(node_id)));
    sample.at = std::chrono::steady_clock::now();
    samples.push_back(std::move(sample));
  }
  return samples;
}

double entries_between(const NodeSample& before, const NodeSample& after) {
  return grown(before, after, "gcoord_server_entries_applied_total");
}

double cpu_us_for_each(const chaos::ResourceUsage& before,
                       const chaos::ResourceUsage& after,
                       double count) {
  return rounded(std::chrono::duration<double, std::micro>(after.cpu - before.cpu).count() / count);
}

Json node_rates(const NodeSample& before, const NodeSample& after) {
  const double busy = std::chrono::duration<double>(after.usage.cpu - before.usage.cpu).count();
  return {{"cpu_percent", rounded(100 * busy / seconds_between(before, after))},
          {"peer_frames_per_s", rate(before, after, "gcoord_netcore_frames_out_total")},
          {"peer_bytes_per_s", rate(before, after, "gcoord_netcore_bytes_out_total")},
          {"shard_steps_per_s", rate(before, after, "gcoord_server_steps_total")},
          {"log_writes_per_s", rate(before, after, "gcoord_ledger_wal_records_total")},
          {"resident_mib",
           rounded(static_cast<double>(after.usage.resident_bytes) / (1024.0 * 1024.0))}};
}

}  // namespace gcoord::bench
