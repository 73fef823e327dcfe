// Samples of the resources that the nodes of a cluster use between two moments: CPU, memory,
// frames, log writes.
#pragma once

#include "bench/cluster/running_cluster.h"
#include "bench/report/metrics_scrape.h"
#include "chaos/process/resource_usage.h"
#include "common/json/value.h"
#include "common/status.h"

#include <chrono>
#include <vector>

namespace gcoord::bench {

struct NodeSample {
  std::chrono::steady_clock::time_point at;
  chaos::ResourceUsage usage;
  MetricSums metrics;
};

// In the order of the cluster's node ids.
Result<std::vector<NodeSample>> sample_nodes(const RunningCluster& cluster);

// Entries that the node applied in between.
double entries_between(const NodeSample& before, const NodeSample& after);

// Microseconds of processor time for each of `count`.
double cpu_us_for_each(const chaos::ResourceUsage& before,
                       const chaos::ResourceUsage& after,
                       double count);

// {"cpu_percent", "peer_frames_per_s", "peer_bytes_per_s", "shard_steps_per_s", "log_writes_per_s",
// "resident_mib"} of one node; the last as of `after`.
Json node_rates(const NodeSample& before, const NodeSample& after);

}  // namespace gcoord::bench
