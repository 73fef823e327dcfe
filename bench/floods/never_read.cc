#include "bench/floods/never_read.h"

#include "bench/cluster/running_cluster.h"
#include "bench/floods/never_readers.h"
#include "bench/report/metrics_scrape.h"
#include "bench/report/results_file.h"
#include "chaos/process/own_path.h"
#include "common/host/child_process.h"
#include "common/json/text.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace gcoord::bench {

namespace {

constexpr std::array<std::uint32_t, 3> kLevels = {20, 60, 100};

// For a load that is starved: it says so by itself.
constexpr std::chrono::seconds kPatience{60};

// What gcoordctl says of one run.
Result<Json> others(const BenchOptions& options, const RunningCluster& cluster) {
  std::string endpoints;
  for (const std::string& endpoint : cluster.nodes().endpoints()) {
    endpoints += (endpoints.empty() ? "" : ",") + endpoint;
  }
  ChildOptions child;
  child.capture_output = true;
  child.arguments = {chaos::program_beside("gcoordctl"),
                     "--endpoints",
                     endpoints,
                     "-o",
                     "json",
                     "bench",
                     "lock",
                     "--clients",
                     std::to_string(options.clients),
                     "--duration",
                     std::to_string(options.measured.count()) + "ms"};
  GCOORD_TRY(auto process, ChildProcess::start(child));
  const auto line = process.read_line(options.measured + kPatience);
  process.wait_for(kPatience);
  if (!line) {
    return Json{{"starved", true}};
  }
  return parse_json(*line);
}

// Counts are text in that output.
double figure(const Json& run, const char* name) {
  const Json& value = run[name];
  return value.is_string() ? std::strtod(value.text().c_str(), nullptr)
                           : number_of(value).value_or(0);
}

Result<double> turns_of(const RunningCluster& cluster) {
  double turns = 0;
  for (const std::uint32_t node : cluster.node_ids()) {
    GCOORD_TRY(const auto metrics, scrape_metrics(cluster.nodes().metrics_port(node)));
    const auto found = metrics.find("gcoord_server_turns_total");
    turns += found == metrics.end() ? 0 : found->second;
  }
  return turns;
}

// The same load alone, and then beside so many connections.
Result<Json> measure(const BenchOptions& options,
                     RunningCluster& cluster,
                     std::uint32_t connections) {
  GCOORD_TRY(const Json alone, others(options, cluster));
  GCOORD_TRY(const auto flood,
             NeverReaders::start({.endpoints = cluster.nodes().endpoints(),
                                  .shards = cluster.nodes().shards(),
                                  .connections = connections}));
  GCOORD_TRY(const double turns_before, turns_of(cluster));
  GCOORD_TRY(const Json beside, others(options, cluster));
  GCOORD_TRY(const double turns_after, turns_of(cluster));
  const NeverReaders::Counts counts = flood->counts();
  const double alone_ms = figure(alone, "acquire_p99_ms");
  const double beside_ms = figure(beside, "acquire_p99_ms");
  const double ratio = alone_ms > 0 ? beside_ms / alone_ms : 0;
  std::fprintf(stderr,
               "  %u connections that never read: p99 %.2f ms, alone %.2f ms (%.2f times), "
               "%.0f pairs/s, alone %.0f\n",
               connections,
               beside_ms,
               alone_ms,
               ratio,
               figure(beside, "pairs_per_s"),
               figure(alone, "pairs_per_s"));
  return Json{{"connections", connections},
              {"ratio", rounded(ratio)},
              {"alone", alone},
              {"beside", beside},
              {"turns", turns_after - turns_before},
              {"opened", counts.opened},
              {"closed", counts.closed},
              {"flood_bytes", counts.bytes}};
}

double median_of(const std::vector<Json>& runs, const char* part, const char* name) {
  std::vector<double> values;
  for (const Json& run : runs) {
    values.push_back(figure(run[part], name));
  }
  return rounded(median(values));
}

Json summed_up(std::uint32_t connections, const std::vector<Json>& runs) {
  std::vector<double> ratios;
  double errors = 0;
  for (const Json& run : runs) {
    ratios.push_back(figure(run, "ratio"));
    errors += figure(run["beside"], "errors");
  }
  return Json{{"connections", connections},
              {"alone_p99_ms", median_of(runs, "alone", "acquire_p99_ms")},
              {"p99_ms", median_of(runs, "beside", "acquire_p99_ms")},
              {"ratio", rounded(median(ratios))},
              {"alone_pairs_per_s", median_of(runs, "alone", "pairs_per_s")},
              {"pairs_per_s", median_of(runs, "beside", "pairs_per_s")},
              {"errors", errors}};
}

}  // namespace

BenchResult bench_never_read(const BenchOptions& options) {
  GCOORD_TRY(const auto cluster, RunningCluster::start(options, options.shards));
  GCOORD_TRY_STATUS(cluster->await_balance());
  std::array<std::vector<Json>, kLevels.size()> runs;
  for (std::uint32_t run = 0; run < options.runs; ++run) {
    for (std::size_t level = 0; level < kLevels.size(); ++level) {
      GCOORD_TRY(Json measured, measure(options, *cluster, kLevels[level]));
      runs[level].push_back(std::move(measured));
    }
  }
  Json levels = Json::array();
  Json raw = Json::array();
  for (std::size_t level = 0; level < kLevels.size(); ++level) {
    levels.push_back(summed_up(kLevels[level], runs[level]));
    for (Json& each : runs[level]) {
      raw.push_back(std::move(each));
    }
  }
  const Json last = levels.back();
  return Json{{"seconds", static_cast<double>(options.measured.count()) / 1000},
              {"shards", options.shards},
              {"clients", options.clients},
              {"runs", raw},
              {"levels", levels},
              {"ratio", last["ratio"]}};
}

}  // namespace gcoord::bench
