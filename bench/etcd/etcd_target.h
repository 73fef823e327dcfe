// Drives etcd's locks over its v3 gRPC API, asynchronously, from one thread.
//
// Two ways to take a lock are offered, because it is not for us to say which one etcd's users would
// call its own: its lock service (the recipe runs in the server), and the recipe of its client
// library, one transaction and one delete. Every client has a lease of its own, or all have one.
//
// One thread: make, drive and destroy it on the same one.
#pragma once

#include "bench/load/closed_loop.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::bench {

enum class EtcdRecipe : std::uint8_t {
  LockService,  // v3lockpb.Lock.
  Transaction,  // What clientv3/concurrency.Mutex sends.
};

// Where connections lead.
enum class EtcdSpread : std::uint8_t {
  Leader,  // All to the leader, which spares a hop.
  Even,    // Dealt out to all nodes.
};

struct EtcdOptions {
  std::vector<std::string> endpoints;
  std::uint32_t clients = 256;
  std::uint32_t connections = 1;  // Shared by the clients, each over one of them.
  EtcdRecipe recipe = EtcdRecipe::Transaction;
  EtcdSpread spread = EtcdSpread::Leader;
  std::string name_prefix = "bench";
  bool one_lease = false;  // Each client of the load is but a name of the one lease.
  std::chrono::milliseconds patience{20'000};  // For the last answers, once the load is over.
};

// Waits for a leader, takes the leases, runs the closed loop, returns what it measured.
// DeadlineExceeded when the last answers do not come.
Result<LoadResult> run_etcd(const EtcdOptions& options, const LoadOptions& load);

}  // namespace gcoord::bench
