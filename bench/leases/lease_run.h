// A cluster with many leases, and the client processes that renew them.
//
// Gone with its object. One thread; the program has no other one when it starts, because processes
// are forked.
#pragma once

#include "bench/cluster/bench_options.h"
#include "bench/cluster/running_cluster.h"
#include "bench/leases/lease_process.h"
#include "common/json/value.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gcoord::bench {

inline constexpr std::uint32_t kLeaseProcesses = 16;
inline constexpr std::chrono::milliseconds kLeaseTtl{10'000};

class LeaseRun {
 public:
  // Returns when all leases are taken. The processes come first: they are forked from a program
  // without threads.
  static Result<std::unique_ptr<LeaseRun>> start(const BenchOptions& options, std::uint32_t leases);

  RunningCluster& cluster() { return *cluster_; }

  // An order (lease_process.h) to the processes from `first` on, so many of them, and their
  // answers.
  Result<std::vector<Json>> order(const Json& order, std::uint32_t first, std::uint32_t count);

  // The same to all.
  Result<std::vector<Json>> all(const Json& order) {
    return this->order(order, 0, kLeaseProcesses);
  }

  // Sessions that the clients from `first` on were told are over.
  Result<std::uint64_t> lost(std::uint32_t first = 0);

  // Leases of the processes from `first` on, so many of them.
  std::uint64_t leases_of(std::uint32_t first, std::uint32_t count) const;

  // Registrations of sessions on a node.
  Result<std::uint64_t> alive(std::uint32_t node_id);

 private:
  Status take();

  std::uint32_t leases_ = 0;
  std::vector<LeaseProcess> processes_;
  std::unique_ptr<RunningCluster> cluster_;
};

}  // namespace gcoord::bench
