#include "bench/leases/leases.h"

#include "bench/cluster/node_samples.h"
#include "bench/leases/lease_run.h"
#include "bench/load/lease_end.h"
#include "bench/load/others.h"
#include "bench/report/results_file.h"
#include "chaos/process/cluster_watch.h"

#include <algorithm>
#include <cstdio>
#include <future>
#include <thread>

namespace gcoord::bench {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The default of gcoordd (server/options/options.h), which the nodes here run with.
constexpr milliseconds kElection{1000};

// All leases end in the same second: each process sends its last keep-alive this much after the one
// before it.
constexpr milliseconds kLastApart{1000 / kLeaseProcesses};

Result<Json> measure_renewal(LeaseRun& run, const BenchOptions& options) {
  GCOORD_TRY(const auto before, sample_nodes(run.cluster()));
  std::this_thread::sleep_for(std::max<milliseconds>(options.measured, kLeaseTtl));
  GCOORD_TRY(const auto after, sample_nodes(run.cluster()));
  Json nodes = Json::array();
  double busiest = 0;
  for (std::size_t k = 0; k < before.size(); ++k) {
    nodes.push_back(node_rates(before[k], after[k]));
    busiest = std::max(busiest, number_of(nodes.back()["cpu_percent"]).value());
  }
  GCOORD_TRY(const auto lost, run.lost());
  std::fprintf(stderr, "  renewing: busiest node %.1f %% of a core\n", busiest);
  return Json{{"cpu_percent_max", busiest},
              {"seconds", std::chrono::duration<double>(after[0].at - before[0].at).count()},
              {"leases_lost", lost},
              {"nodes", nodes}};
}

// The last keep-alive of the processes from `first` on, so many of them, and what is due when.
Result<LeaseEnds> send_last(LeaseRun& run,
                            std::uint32_t first,
                            std::uint32_t count,
                            milliseconds apart) {
  LeaseEnds ends;
  const auto began = Clock::now();
  for (std::uint32_t k = 0; k < count; ++k) {
    std::this_thread::sleep_until(began + k * apart);
    GCOORD_TRY(const auto answers, run.order({{"do", "last"}}, first + k, 1));
    const Clock::time_point last{
        Clock::duration{unsigned_of(answers[0]["acknowledged_ns"]).value()}};
    ends.due.push_back({last + kLeaseTtl, run.leases_of(first + k, 1)});
  }
  return ends;
}

// How many more sessions than `staying` the slowest of these nodes still has.
Result<std::uint64_t> left_over(LeaseRun& run,
                                const std::vector<std::uint32_t>& nodes,
                                std::uint64_t staying) {
  std::uint64_t left = 0;
  for (const std::uint32_t node : nodes) {
    GCOORD_TRY(const auto alive, run.alive(node));
    left = std::max(left, alive > staying ? alive - staying : 0);
  }
  return left;
}

// Until the clients beside the leases have their sessions, which count as staying: a look before
// that would take as many leases for ended. It gives up after a moment, so that leases that did end
// too early are seen.
Status await_others(LeaseRun& run, std::uint64_t all) {
  const auto patience = Clock::now() + milliseconds{300};
  for (std::uint64_t alive = 0; alive < all && Clock::now() < patience;) {
    GCOORD_TRY(alive, run.alive(run.cluster().node_ids().front()));
    std::this_thread::sleep_for(milliseconds{10});
  }
  return Status{};
}

// Until all that is due has ended on these nodes; `staying` sessions more than that live on.
Status watch_ends(LeaseRun& run,
                  LeaseEnds& ends,
                  const std::vector<std::uint32_t>& nodes,
                  std::uint64_t staying) {
  constexpr std::chrono::seconds kPatience{30};
  // A node that says its metrics uses milliseconds of a processor that it has other work for.
  constexpr milliseconds kBetweenLooks{40};
  while (true) {
    const auto asked = Clock::now();
    GCOORD_TRY(const std::uint64_t left, left_over(run, nodes, staying));
    // Late rather than early: what was left then was left at the earliest when it was asked for.
    ends.left.push_back({left == 0 ? Clock::now() : asked, left});
    if (left == 0) {
      return Status{};
    }
    if (asked > ends.due.back().at + kPatience) {
      return Status{StatusCode::DeadlineExceeded,
                    std::to_string(left) + " leases live half a minute after their end"};
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

Result<Json> measure_storm(LeaseRun& run, std::uint32_t leases) {
  const auto endpoints = run.cluster().nodes().endpoints();
  GCOORD_TRY(Json before, run_others(endpoints, milliseconds{4000}, "before"));
  GCOORD_TRY(LeaseEnds ends, send_last(run, 0, kLeaseProcesses, kLastApart));
  std::this_thread::sleep_until(ends.due.front().at - milliseconds{500});
  GCOORD_TRY(const auto nodes_before, sample_nodes(run.cluster()));
  auto beside = std::async(std::launch::async, [&endpoints] {
    return run_others(endpoints, milliseconds{3000}, "during");
  });
  Status watched = await_others(run, leases + kOthers);
  if (watched.ok()) {
    watched = watch_ends(run, ends, run.cluster().node_ids(), kOthers);
  }
  GCOORD_TRY(const auto nodes_after, sample_nodes(run.cluster()));
  auto during = beside.get();
  GCOORD_TRY_STATUS(watched);
  GCOORD_TRY_STATUS(during.status());
  const double ratio = others_ratio(before, during.value());
  Json result = report_ends(ends);
  std::fprintf(stderr,
               "  %u leases ended: p99 %s ms late; p99 of others %.2f times that before\n",
               leases,
               result["late_ms_p99"].dump().c_str(),
               ratio);
  result["nodes"] = Json::array();
  for (std::size_t k = 0; k < nodes_before.size(); ++k) {
    result["nodes"].push_back(node_rates(nodes_before[k], nodes_after[k]));
  }
  result["others_before"] = std::move(before);
  result["others_during"] = std::move(during).value();
  result["others_p99_ratio"] = rounded(ratio);
  return result;
}

// Half of the clients fall silent just before a node is killed: their leases must not live past TTL
// and an election, those of the others must all live on.
Result<Json> measure_failover(const BenchOptions& options, std::uint32_t leases) {
  constexpr std::uint32_t kSilent = kLeaseProcesses / 2;
  GCOORD_TRY(const auto run, LeaseRun::start(options, leases));
  auto ids = run->cluster().node_ids();
  const std::uint32_t victim = ids.back();
  ids.pop_back();
  const std::uint64_t staying = run->leases_of(kSilent, kLeaseProcesses - kSilent);
  GCOORD_TRY(LeaseEnds ends, send_last(*run, 0, kSilent, milliseconds{0}));
  const auto killed = Clock::now();
  run->cluster().nodes().kill(victim);
  GCOORD_TRY(const auto led,
             chaos::wait_all_led(
                 run->cluster().watcher(), killed, {.node_ids = ids, .shards = options.shards}));
  GCOORD_TRY_STATUS(watch_ends(*run, ends, ids, staying));
  GCOORD_TRY(const auto lost, run->lost(kSilent));
  std::uint64_t alive = ~std::uint64_t{0};
  for (const std::uint32_t node : ids) {
    GCOORD_TRY(const auto on_node, run->alive(node));
    alive = std::min(alive, on_node);
  }
  Json late = report_ends(ends);
  std::fprintf(stderr,
               "  %u leases: all led again after %lld ms; of %llu renewed ones %llu lost and %llu "
               "alive; the others ended %s ms after their TTL at most\n",
               leases,
               static_cast<long long>(led.count()),
               static_cast<unsigned long long>(staying),
               static_cast<unsigned long long>(lost),
               static_cast<unsigned long long>(alive),
               late["late_ms_max"].dump().c_str());
  return Json{{"leases", leases},
              {"election_ms", kElection.count()},
              {"led_again_ms", led.count()},
              {"renewed", staying},
              {"renewed_lost", lost},
              {"renewed_alive", alive},
              {"silent", std::move(late)}};
}

Result<Json> measure_steady(const BenchOptions& options) {
  GCOORD_TRY(const auto run, LeaseRun::start(options, options.leases));
  GCOORD_TRY(Json renewal, measure_renewal(*run, options));
  GCOORD_TRY(Json storm, measure_storm(*run, options.leases));
  return Json{{"renewal", std::move(renewal)}, {"storm", std::move(storm)}};
}

}  // namespace

BenchResult bench_leases(const BenchOptions& options) {
  Json result{{"leases", options.leases},
              {"ttl_ms", kLeaseTtl.count()},
              {"processes", kLeaseProcesses},
              {"shards", options.shards},
              {"node_cores", options.node_cores},
              {"acknowledged", "durable on two of three nodes"}};
  for (std::uint32_t run = 0; options.part != "failover" && run < options.runs; ++run) {
    GCOORD_TRY(Json steady, measure_steady(options));
    result["steady"].push_back(std::move(steady));
  }
  for (const std::uint32_t divisor : {1000u, 10u, 1u}) {
    if (options.part != "steady") {
      GCOORD_TRY(Json failover,
                 measure_failover(options, std::max(kLeaseProcesses, options.leases / divisor)));
      result["failovers"].push_back(std::move(failover));
    }
  }
  return result;
}

}  // namespace gcoord::bench
