#include "bench/leases/lease_run.h"

#include "bench/report/metrics_scrape.h"

#include <cstdio>

namespace gcoord::bench {

namespace {

using Clock = std::chrono::steady_clock;

// Sessions of this benchmark: ids that clients choose are below 2^48.
constexpr std::uint64_t kFirstSession = std::uint64_t{1} << 40;

}  // namespace

Result<std::unique_ptr<LeaseRun>> LeaseRun::start(const BenchOptions& options,
                                                  std::uint32_t leases) {
  auto run = std::make_unique<LeaseRun>();
  run->leases_ = leases;
  for (std::uint32_t k = 0; k < kLeaseProcesses; ++k) {
    GCOORD_TRY(auto process, LeaseProcess::fork_one());
    run->processes_.push_back(std::move(process));
  }
  GCOORD_TRY(run->cluster_, RunningCluster::start(options, options.shards));
  GCOORD_TRY_STATUS(run->cluster_->await_balance());
  GCOORD_TRY_STATUS(run->take());
  return run;
}

std::uint64_t LeaseRun::leases_of(std::uint32_t first, std::uint32_t count) const {
  return std::uint64_t{leases_} * (first + count) / kLeaseProcesses -
         std::uint64_t{leases_} * first / kLeaseProcesses;
}

Status LeaseRun::take() {
  const auto began = Clock::now();
  for (std::uint32_t k = 0; k < kLeaseProcesses; ++k) {
    GCOORD_TRY_STATUS(processes_[k].order({{"do", "take"},
                                           {"endpoints", cluster_->nodes().endpoints()},
                                           {"first", kFirstSession + leases_of(0, k)},
                                           {"count", leases_of(k, 1)},
                                           {"ttl_ms", kLeaseTtl.count()}}));
  }
  for (LeaseProcess& process : processes_) {
    GCOORD_TRY_STATUS(process.await().status());
  }
  std::fprintf(stderr,
               "  %u leases taken after %.1f s\n",
               leases_,
               std::chrono::duration<double>(Clock::now() - began).count());
  return Status{};
}

Result<std::vector<Json>> LeaseRun::order(const Json& order,
                                          std::uint32_t first,
                                          std::uint32_t count) {
  const auto some = std::span(processes_).subspan(first, count);
  for (LeaseProcess& process : some) {
    GCOORD_TRY_STATUS(process.order(order));
  }
  std::vector<Json> answers;
  for (LeaseProcess& process : some) {
    GCOORD_TRY(auto answer, process.await());
    answers.push_back(std::move(answer));
  }
  return answers;
}

Result<std::uint64_t> LeaseRun::lost(std::uint32_t first) {
  GCOORD_TRY(const auto answers, order({{"do", "count"}}, first, kLeaseProcesses - first));
  std::uint64_t lost = 0;
  for (const Json& answer : answers) {
    lost += unsigned_of(answer["lost"]).value();
  }
  return lost;
}

Result<std::uint64_t> LeaseRun::alive(std::uint32_t node_id) {
  GCOORD_TRY(const auto metrics, scrape_metrics(cluster_->nodes().metrics_port(node_id)));
  const auto found = metrics.find("gcoord_server_session_registrations");
  return static_cast<std::uint64_t>(found == metrics.end() ? 0 : found->second);
}

}  // namespace gcoord::bench
