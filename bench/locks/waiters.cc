#include "bench/locks/waiters.h"

#include "bench/cluster/node_samples.h"
#include "bench/cluster/running_cluster.h"
#include "bench/report/results_file.h"
#include "cli/load/closed_load.h"
#include "cli/load/queue_load.h"
#include "common/name_hash.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>

namespace gcoord::bench {

namespace {

constexpr std::uint32_t kHandoversMax = 1000;
// Of this many a leader refuses none for being too many.
constexpr std::uint32_t kOrderedBurst = 4096;

// Of options.waiters.
constexpr std::array kParts = {100u, 10u, 1u};
constexpr const char* kLockName = "bench/waiters";

Status of(const client::Status& status) {
  return status.ok() ? Status{} : Status{static_cast<StatusCode>(status.code()), status.message()};
}

// Who else used the processors.
double load_average() {
  double minute = 0;
  return ::getloadavg(&minute, 1) == 1 ? rounded(minute) : -1;
}

// Of all nodes together.
struct Cost {
  double cpu_us = 0;   // Of a hand-over.
  double entries = 0;  // Of the log that a node applied for it.
};

Cost cost_of(const std::vector<NodeSample>& before,
             const std::vector<NodeSample>& after,
             double handovers) {
  Cost cost;
  for (std::size_t node = 0; node < before.size(); ++node) {
    cost.cpu_us += cpu_us_for_each(before[node].usage, after[node].usage, handovers);
    cost.entries += entries_between(before[node], after[node]);
  }
  cost.entries /= handovers * static_cast<double>(before.size());
  return cost;
}

Json described(std::uint32_t waiters, const cli::QueueLoadResults& results) {
  const std::vector<std::uint32_t>& us = results.handover_us;
  const double sum = std::accumulate(us.begin(), us.end(), 0.0);
  return {{"waiters", waiters},
          {"load_average", load_average()},
          {"enqueue_s", rounded(results.enqueue_seconds)},
          {"releases", results.releases},
          {"grants", results.grants},
          {"out_of_order", results.out_of_order},
          {"waiters_left", results.waiters_left},
          {"handover_mean_us", rounded(sum / static_cast<double>(us.size()))},
          {"handover_p50_us", cli::percentile(us, 50)},
          {"handover_p99_us", cli::percentile(us, 99)},
          {"handover_max_us", us.back()}};
}

// Kills who leads the lock's shard; -1 when that could not be found out.
void kill_leader(RunningCluster& cluster, std::int64_t& killed) {
  killed = -1;
  const std::uint32_t shard = shard_of(hash_name(kLockName), cluster.nodes().shards()).value;
  const auto leaders = cluster.watcher().leader_map(shard, 1);
  if (leaders.ok() && leaders.value().front() != 0) {
    killed = leaders.value().front();
    cluster.nodes().kill(leaders.value().front());
  }
}

void tell(const Json& run) {
  std::fprintf(stderr,
               "  %u waiters, queued in %.2f s: a hand-over p50 %.2f ms, p99 %.2f ms, at most %.0f "
               "ms\n",
               static_cast<std::uint32_t>(unsigned_of(run["waiters"]).value()),
               number_of(run["enqueue_s"]).value(),
               number_of(run["handover_p50_us"]).value() / 1000,
               number_of(run["handover_p99_us"]).value() / 1000,
               number_of(run["handover_max_us"]).value() / 1000);
}

// null: the leader changed while the queue was made, so nobody here knows who is first.
Result<Json> measure_once(const BenchOptions& options, std::uint32_t waiters) {
  GCOORD_TRY(const auto cluster, RunningCluster::start(options, options.shards));
  auto client = client::Client::connect(
      {.endpoints = cluster->nodes().endpoints(), .request_timeout = kStartTimeout});
  if (!client.ok()) {
    return of(client.status());
  }
  const std::uint32_t handovers = std::min(waiters, kHandoversMax);
  std::int64_t killed = 0;
  cli::QueueLoadOptions load_options{
      .name = kLockName, .waiters = waiters, .burst = options.burst, .handovers = handovers};
  if (options.kill_leader) {
    load_options.interlude_grants = std::max(1u, handovers / 2);
    load_options.interlude = [&] { kill_leader(*cluster, killed); };
  }
  cli::QueueLoad load(client.value(), load_options);
  GCOORD_TRY_STATUS(of(client.value().wait_for_all_nodes(kStartTimeout)));
  GCOORD_TRY_STATUS(of(load.queue_up()));
  GCOORD_TRY(const auto before, sample_nodes(*cluster));
  const auto asked = client.value().statistics();
  const auto results = load.hand_on();
  if (!results.ok()) {
    return of(results.status());
  }
  if (!results.value().order_known && options.burst <= kOrderedBurst) {
    return Json{};
  }
  if (!results.value().exact(waiters)) {
    return Status{StatusCode::Internal, "a release did not wake the first in line, and it alone"};
  }
  Json run = described(waiters, results.value());
  const auto answered = client.value().statistics();
  run["requests_per_waiter"] =
      rounded(static_cast<double>(answered.requests - asked.requests) / waiters);
  if (options.kill_leader) {
    run["killed"] = killed;
  } else {
    GCOORD_TRY(const auto after, sample_nodes(*cluster));
    const Cost cost = cost_of(before, after, handovers);
    run["nodes_cpu_us_per_handover"] = rounded(cost.cpu_us);
    run["entries_per_handover"] = rounded(cost.entries);
  }
  tell(run);
  return run;
}

Result<Json> measure(const BenchOptions& options, std::uint32_t waiters) {
  constexpr int kTriesMax = 10;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    GCOORD_TRY(Json run, measure_once(options, waiters));
    if (!run.is_null()) {
      return run;
    }
    std::fprintf(stderr, "  the leader changed while the queue was made: once more\n");
  }
  return Status{StatusCode::Unavailable, "the leader changed whenever a queue was made"};
}

// Of each length the medians over its runs.
Json summary_of(const Json& runs) {
  Json summary = Json::array();
  std::map<std::uint32_t, std::map<std::string, std::vector<double>>> values;
  constexpr std::array kShown = {"handover_mean_us",
                                 "handover_p50_us",
                                 "handover_p99_us",
                                 "handover_max_us",
                                 "requests_per_waiter",
                                 "nodes_cpu_us_per_handover",
                                 "entries_per_handover",
                                 "enqueue_s"};
  for (const Json& run : runs) {
    for (const char* name : kShown) {
      if (run.contains(name)) {
        values[static_cast<std::uint32_t>(unsigned_of(run["waiters"]).value())][name].push_back(
            number_of(run[name]).value());
      }
    }
  }
  for (const auto& [waiters, columns] : values) {
    Json row = {{"waiters", waiters}};
    for (const auto& [name, column] : columns) {
      row[name] = rounded(median(column));
    }
    summary.push_back(std::move(row));
  }
  return summary;
}

}  // namespace

BenchResult bench_waiters(const BenchOptions& options) {
  Json runs = Json::array();
  for (std::uint32_t round = 0; round < options.runs; ++round) {
    for (const std::uint32_t part : kParts) {
      if (options.kill_leader && part != 1) {
        continue;
      }
      GCOORD_TRY(Json run, measure(options, std::max(1u, options.waiters / part)));
      runs.push_back(std::move(run));
    }
  }
  return Json{
      {"method",
       "three gcoordd nodes on loopback, a cluster of its own for each queue, and one client "
       "process whose sessions wait 30 times each; a hand-over is from the call of a release to "
       "the callback of the next grant, one after another"},
      {"acknowledged",
       "each wait, release and grant when a majority of the nodes has it on stable storage"},
      {"durability", options.durability},
      {"leader_killed", options.kill_leader},
      {"burst", options.burst},
      {"shards", options.shards},
      {"node_cores", options.node_cores},
      {"medians", summary_of(runs)},
      {"runs", runs}};
}

}  // namespace gcoord::bench
