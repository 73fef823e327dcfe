#include "bench/cluster/core_set.h"
#include "bench/etcd/etcd_connections.h"
#include "bench/etcd/etcd_leases.h"
#include "bench/etcd/etcd_target.h"
#include "bench/etcd/vs_etcd.h"
#include "bench/load/lease_end.h"
#include "bench/load/load_report.h"
#include "bench/report/metrics_scrape.h"
#include "bench/report/results_file.h"
#include "chaos/process/etcd_cluster.h"
#include "chaos/process/resource_usage.h"
#include "chaos/process/scratch_directory.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <future>
#include <thread>

namespace gcoord::bench {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::array<std::uint32_t, 4> kLevels = {1'000, 10'000, 30'000, 100'000};
constexpr std::chrono::seconds kTtl{10};
constexpr std::uint32_t kOthers = 16;

// A level that is not taken by then, or has not ended by then, is shown as far as it got.
constexpr std::chrono::seconds kTakePatience{40};
constexpr std::chrono::seconds kEndPatience{20};

struct Yardstick {
  const chaos::EtcdCluster& cluster;
  std::string leader;
  std::uint32_t loads = 0;

  Result<Json> others(milliseconds length, const char* when) {
    EtcdOptions target;
    target.endpoints = cluster.endpoints();
    target.clients = kOthers;
    target.name_prefix = "others-" + std::to_string(++loads);
    const LoadOptions load{.warm_up = milliseconds{200}, .measured = length};
    GCOORD_TRY(const LoadResult result, run_etcd(target, load));
    return report_load(result, when, kOthers);
  }

  // Leases that the slowest node has revoked since it started.
  Result<std::uint64_t> revoked() const {
    std::uint64_t least = ~std::uint64_t{0};
    for (const std::string& endpoint : cluster.endpoints()) {
      const auto port = std::stoul(endpoint.substr(endpoint.rfind(':') + 1));
      GCOORD_TRY(const auto metrics, scrape_metrics(static_cast<std::uint16_t>(port)));
      const auto found = metrics.find("etcd_debugging_lease_revoked_total");
      least =
          std::min(least, static_cast<std::uint64_t>(found == metrics.end() ? 0 : found->second));
    }
    return least;
  }

  Result<std::vector<milliseconds>> cpu() const {
    std::vector<milliseconds> all;
    for (const pid_t pid : cluster.pids()) {
      GCOORD_TRY(const auto usage, chaos::resource_usage(pid));
      all.push_back(usage.cpu);
    }
    return all;
  }
};

Result<double> busiest_percent(const Yardstick& etcd, milliseconds length) {
  GCOORD_TRY(const auto before, etcd.cpu());
  const auto began = Clock::now();
  std::this_thread::sleep_for(length);
  GCOORD_TRY(const auto after, etcd.cpu());
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  double busiest = 0;
  for (std::size_t k = 0; k < before.size(); ++k) {
    const double busy = std::chrono::duration<double>(after[k] - before[k]).count();
    busiest = std::max(busiest, 100 * busy / seconds);
  }
  return rounded(busiest);
}

Status watch_ends(const Yardstick& etcd, std::uint64_t before, LeaseEnds& ends) {
  const LeaseEnds::Due due = ends.due.front();
  while (ends.left.empty() || ends.left.back().left > 0) {
    const auto asked = Clock::now();
    GCOORD_TRY(const std::uint64_t revoked, etcd.revoked());
    ends.left.push_back({asked, due.count - std::min(due.count, revoked - before)});
    if (asked > due.at + kEndPatience) {
      return Status{};
    }
    std::this_thread::sleep_for(milliseconds{20});
  }
  return Status{};
}

Result<Json> measure_end(Yardstick& etcd, EtcdLeases& leases) {
  GCOORD_TRY(Json before, etcd.others(milliseconds{2000}, "before"));
  GCOORD_TRY(const std::uint64_t revoked, etcd.revoked());
  LeaseEnds ends;
  ends.due.push_back({leases.stop() + kTtl, leases.taken() - std::min(leases.taken(), revoked)});
  std::this_thread::sleep_until(ends.due.front().at - milliseconds{500});
  auto beside =
      std::async(std::launch::async, [&etcd] { return etcd.others(milliseconds{4000}, "during"); });
  const Status watched = watch_ends(etcd, revoked, ends);
  auto during = beside.get();
  GCOORD_TRY_STATUS(watched);
  Json level = report_ends(ends);
  level["others_before"] = std::move(before);
  level["others_during"] = during.ok() ? during.value() : Json(during.status().message());
  level["left_when_it_was_given_up"] = ends.left.back().left;
  return level;
}

Result<chaos::EtcdCluster> start_etcd(const BenchOptions& options,
                                      const std::filesystem::path& directory) {
  GCOORD_TRY(const OnCores there, OnCores::of(options.node_cores));
  return chaos::EtcdCluster::start(directory, 3);
}

Result<Json> measure_level(const BenchOptions& options, std::uint32_t count) {
  GCOORD_TRY(const auto scratch, chaos::ScratchDirectory::make(options.directory, "etcd"));
  GCOORD_TRY(const auto cluster, start_etcd(options, scratch.path()));
  GCOORD_TRY(const std::string leader,
             find_etcd_leader(cluster.endpoints(), std::chrono::seconds{20}));
  Yardstick etcd{cluster, leader};
  const auto began = Clock::now();
  EtcdLeases leases{leader, count, kTtl};
  while (leases.taken() < count && leases.failure().empty() &&
         Clock::now() - began < kTakePatience) {
    std::this_thread::sleep_for(milliseconds{20});
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  GCOORD_TRY(const double busiest, busiest_percent(etcd, kTtl));
  Json level{{"asked_for", count},
             {"taken", leases.taken()},
             {"taken_s", rounded(seconds)},
             {"cpu_percent_max", busiest},
             {"lost", leases.lost()},
             {"slowest_round_ms", leases.slowest_round().count()},
             {"failure", leases.failure()}};
  GCOORD_TRY(Json end, measure_end(etcd, leases));
  merge_members(level, end);
  std::fprintf(stderr,
               "  etcd, %u leases: taken %s in %s s, busiest node %s %%, lost %s; ended p99 %s ms "
               "late, %s left\n",
               count,
               level["taken"].dump().c_str(),
               level["taken_s"].dump().c_str(),
               level["cpu_percent_max"].dump().c_str(),
               level["lost"].dump().c_str(),
               level["late_ms_p99"].dump().c_str(),
               level["left_when_it_was_given_up"].dump().c_str());
  return level;
}

}  // namespace

BenchResult bench_etcd_leases(const BenchOptions& options) {
  Json levels = Json::array();
  for (const std::uint32_t count : kLevels) {
    if (count <= options.leases) {
      GCOORD_TRY(Json level, measure_level(options, count));
      levels.push_back(std::move(level));
    }
  }
  return Json{{"ttl_ms", milliseconds{kTtl}.count()},
              {"streams", kEtcdLeaseStreams},
              {"node_cores", options.node_cores},
              {"acknowledged", "on stable storage of two of three nodes"},
              {"etcd_levels", std::move(levels)}};
}

}  // namespace gcoord::bench
