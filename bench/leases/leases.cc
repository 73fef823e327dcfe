#include "bench/leases/leases.h"

#include "bench/leases/lease_process.h"
#include "bench/load/gcoord_target.h"
#include "bench/load/load_report.h"
#include "bench/node_samples.h"
#include "bench/report/results_file.h"
#include "bench/running_cluster.h"
#include "chaos/process/cluster_watch.h"

#include <algorithm>
#include <cstdio>
#include <future>
#include <thread>

namespace gcoord::bench {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint32_t kProcesses = 16;
constexpr milliseconds kTtl{10'000};

// Of clients that lock and unlock names of their own beside the leases.
constexpr std::uint32_t kOthers = 16;

// The default of gcoordd (server/options.h), which the nodes here run with.
constexpr milliseconds kElection{1000};

// Sessions of this benchmark: ids that clients choose are below 2^48.
constexpr std::uint64_t kFirstSession = std::uint64_t{1} << 40;

std::uint64_t ms_since(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<milliseconds>(Clock::now() - start).count());
}

// The processes and the cluster that they are clients of.
class LeaseRun {
 public:
  // The processes come first: they are forked from a program without threads.
  static Result<std::unique_ptr<LeaseRun>> start(const BenchOptions& options,
                                                 std::uint32_t leases) {
    auto run = std::make_unique<LeaseRun>();
    for (std::uint32_t k = 0; k < kProcesses; ++k) {
      GCOORD_TRY(auto process, LeaseProcess::fork_one());
      run->processes_.push_back(std::move(process));
    }
    GCOORD_TRY(run->cluster_, RunningCluster::start(options, options.shards));
    GCOORD_TRY_STATUS(run->cluster_->await_balance());
    GCOORD_TRY_STATUS(run->take(leases));
    return run;
  }

  RunningCluster& cluster() { return *cluster_; }

  // One order to all, and their answers.
  Result<std::vector<json>> all(const json& order) {
    for (LeaseProcess& process : processes_) {
      GCOORD_TRY_STATUS(process.order(order));
    }
    std::vector<json> answers;
    for (LeaseProcess& process : processes_) {
      GCOORD_TRY(auto answer, process.await());
      answers.push_back(std::move(answer));
    }
    return answers;
  }

  // Sessions that clients were told are over.
  Result<std::uint64_t> lost() {
    GCOORD_TRY(const auto answers, all({{"do", "count"}}));
    std::uint64_t lost = 0;
    for (const json& answer : answers) {
      lost += answer["lost"].get<std::uint64_t>();
    }
    return lost;
  }

  // Registrations of sessions on a node.
  Result<std::uint64_t> alive(std::uint32_t node_id) {
    GCOORD_TRY(const auto metrics, scrape_metrics(cluster_->nodes().metrics_port(node_id)));
    const auto found = metrics.find("gcoord_server_session_registrations");
    return static_cast<std::uint64_t>(found == metrics.end() ? 0 : found->second);
  }

 private:
  Status take(std::uint32_t leases) {
    const auto began = Clock::now();
    for (std::uint32_t k = 0; k < kProcesses; ++k) {
      const std::uint64_t first = std::uint64_t{leases} * k / kProcesses;
      const std::uint64_t end = std::uint64_t{leases} * (k + 1) / kProcesses;
      GCOORD_TRY_STATUS(processes_[k].order({{"do", "take"},
                                             {"endpoints", cluster_->nodes().endpoints()},
                                             {"first", kFirstSession + first},
                                             {"count", end - first},
                                             {"ttl_ms", kTtl.count()}}));
    }
    for (LeaseProcess& process : processes_) {
      GCOORD_TRY_STATUS(process.await().status());
    }
    std::fprintf(stderr,
                 "  %u leases taken after %llu ms\n",
                 leases,
                 static_cast<unsigned long long>(ms_since(began)));
    return Status{};
  }

  std::vector<LeaseProcess> processes_;
  std::unique_ptr<RunningCluster> cluster_;
};

Result<ordered_json> others(RunningCluster& cluster, milliseconds length, const char* when) {
  GcoordOptions target;
  target.endpoints = cluster.nodes().endpoints();
  target.clients = kOthers;
  target.name_prefix = when;
  LoadOptions load;
  load.clients = kOthers;
  load.warm_up = milliseconds{200};
  load.measured = length;
  GCOORD_TRY(const LoadResult result, run_gcoord(target, load));
  return report_load(result, when, kOthers);
}

Result<ordered_json> measure_renewal(LeaseRun& run, const BenchOptions& options) {
  GCOORD_TRY(const auto before, sample_nodes(run.cluster()));
  std::this_thread::sleep_for(std::max<milliseconds>(options.measured, kTtl));
  GCOORD_TRY(const auto after, sample_nodes(run.cluster()));
  ordered_json nodes = ordered_json::array();
  double busiest = 0;
  for (std::size_t k = 0; k < before.size(); ++k) {
    nodes.push_back(node_rates(before[k], after[k]));
    busiest = std::max(busiest, nodes.back()["cpu_percent"].get<double>());
  }
  GCOORD_TRY(const auto lost, run.lost());
  std::fprintf(stderr, "  renewing: busiest node %.1f %% of a core\n", busiest);
  return ordered_json{
      {"cpu_percent_max", busiest},
      {"seconds", std::chrono::duration<double>(after[0].at - before[0].at).count()},
      {"leases_lost", lost},
      {"nodes", nodes}};
}

// When 1 % and none of the leases were left on every node, from `due` on.
Result<ordered_json> watch_end(LeaseRun& run, std::uint32_t leases, Clock::time_point due) {
  ordered_json series = ordered_json::array();
  std::int64_t p50_ms = -1;
  std::int64_t p99_ms = -1;
  std::int64_t early_ms = 0;
  for (std::uint64_t left = leases; left > 0;) {
    left = 0;
    for (const std::uint32_t node : run.cluster().node_ids()) {
      GCOORD_TRY(const auto alive, run.alive(node));
      left = std::max(left, alive > kOthers ? alive - kOthers : 0);
    }
    const auto late = std::chrono::duration_cast<milliseconds>(Clock::now() - due).count();
    series.push_back({late, left});
    early_ms = left == leases ? late : early_ms;
    p50_ms = p50_ms < 0 && left <= leases / 2 ? late : p50_ms;
    p99_ms = p99_ms < 0 && left <= leases / 100 ? late : p99_ms;
    if (late > 120'000) {
      return Status{StatusCode::DeadlineExceeded, "leases live two minutes after their end"};
    }
    std::this_thread::sleep_for(milliseconds{10});
  }
  return ordered_json{{"late_ms_first", early_ms},
                      {"late_ms_p50", p50_ms},
                      {"late_ms_p99", p99_ms},
                      {"late_ms_last", series.back()[0]},
                      {"left_by_ms", series}};
}

Result<ordered_json> measure_storm(LeaseRun& run, std::uint32_t leases) {
  GCOORD_TRY(ordered_json before, others(run.cluster(), milliseconds{4000}, "before"));
  GCOORD_TRY(const auto answers, run.all({{"do", "last"}}));
  std::int64_t first_ns = answers[0]["acknowledged_ns"];
  std::int64_t last_ns = first_ns;
  for (const json& answer : answers) {
    first_ns = std::min(first_ns, answer["acknowledged_ns"].get<std::int64_t>());
    last_ns = std::max(last_ns, answer["acknowledged_ns"].get<std::int64_t>());
  }
  const Clock::time_point last{Clock::duration{last_ns}};
  std::this_thread::sleep_until(last + kTtl - milliseconds{1000});
  auto beside = std::async(std::launch::async,
                           [&run] { return others(run.cluster(), milliseconds{4000}, "during"); });
  auto ended = watch_end(run, leases, last + kTtl);
  auto during = beside.get();
  GCOORD_TRY_STATUS(ended.status());
  GCOORD_TRY_STATUS(during.status());
  const double ratio = during.value()["pair_p99_ms"].get<double>() /
                       std::max(0.001, before["pair_p99_ms"].get<double>());
  ordered_json result = std::move(ended).value();
  std::fprintf(stderr,
               "  %u leases ended: p99 %s ms late; p99 of others %.2f times that before\n",
               leases,
               result["late_ms_p99"].dump().c_str(),
               ratio);
  result["last_renewals_within_ms"] = (last_ns - first_ns) / 1'000'000;
  result["others_before"] = std::move(before);
  result["others_during"] = std::move(during).value();
  result["others_p99_ratio"] = rounded(ratio);
  return result;
}

Result<ordered_json> measure_failover(const BenchOptions& options, std::uint32_t leases) {
  GCOORD_TRY(const auto run, LeaseRun::start(options, leases));
  auto ids = run->cluster().node_ids();
  const std::uint32_t victim = ids.back();
  ids.pop_back();
  const auto killed = Clock::now();
  run->cluster().nodes().kill(victim);
  GCOORD_TRY(const auto led,
             chaos::wait_all_led(
                 run->cluster().watcher(), killed, {.node_ids = ids, .shards = options.shards}));
  std::this_thread::sleep_for(kTtl * 2);
  GCOORD_TRY(const auto lost, run->lost());
  std::uint64_t alive = ~std::uint64_t{0};
  for (const std::uint32_t node : ids) {
    GCOORD_TRY(const auto on_node, run->alive(node));
    alive = std::min(alive, on_node);
  }
  std::fprintf(stderr,
               "  %u leases: all led again after %lld ms, %llu lost, %llu alive\n",
               leases,
               static_cast<long long>(led.count()),
               static_cast<unsigned long long>(lost),
               static_cast<unsigned long long>(alive));
  return ordered_json{{"leases", leases},
                      {"election_ms", kElection.count()},
                      {"led_again_ms", led.count()},
                      {"leases_lost", lost},
                      {"leases_alive_after_two_ttls", alive}};
}

}  // namespace

BenchResult bench_leases(const BenchOptions& options) {
  ordered_json renewals = ordered_json::array();
  ordered_json storms = ordered_json::array();
  for (std::uint32_t number = 0; number < options.runs; ++number) {
    GCOORD_TRY(const auto run, LeaseRun::start(options, options.leases));
    GCOORD_TRY(ordered_json renewal, measure_renewal(*run, options));
    GCOORD_TRY(ordered_json storm, measure_storm(*run, options.leases));
    renewals.push_back(std::move(renewal));
    storms.push_back(std::move(storm));
  }
  ordered_json failovers = ordered_json::array();
  for (const std::uint32_t divisor : {1000u, 10u, 1u}) {
    GCOORD_TRY(ordered_json failover,
               measure_failover(options, std::max(kProcesses, options.leases / divisor)));
    failovers.push_back(std::move(failover));
  }
  return ordered_json{{"leases", options.leases},
                      {"ttl_ms", kTtl.count()},
                      {"processes", kProcesses},
                      {"shards", options.shards},
                      {"acknowledged", "durable on two of three nodes"},
                      {"renewal", renewals},
                      {"storm", storms},
                      {"failovers", failovers}};
}

}  // namespace gcoord::bench
