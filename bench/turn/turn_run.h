// Three running nodes for one measurement, and their end.
//
// Contract: start, measure, stop; a node that is not told to leave leaves by itself when its time
// is over. Host code of a CUDA build, one thread.
#pragma once

#include "chaos/turn/turn_device.h"
#include "common/status.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::bench {

using TurnDevices = std::array<int, server::kTurnNodes>;

class TurnRun {
 public:
  // Starts all three nodes and waits until every shard is led, or gives up.
  static Result<std::unique_ptr<TurnRun>> start(const chaos::TurnClusterOptions& options,
                                                const TurnDevices& devices);

  chaos::TurnCluster& cluster() { return *cluster_; }

  // Aborts one node's kernel and waits until it has left.
  Status stop(std::uint32_t n);
  Status stop_all();

  // Commands applied on one node so far, over all shards; while it runs, too.
  Result<std::uint64_t> applied(std::uint32_t n);

  // Commands and no-ops applied on the node that has applied least of each shard's.
  Result<std::uint64_t> least_applied();

  // Replicas that applied equally many commands agree about them.
  Status check_agreement(const std::vector<std::uint32_t>& nodes);

 private:
  TurnRun() = default;

  std::unique_ptr<chaos::TurnCluster> cluster_;
  std::array<std::unique_ptr<chaos::PersistentNode>, server::kTurnNodes> nodes_;
};

// Spins; a benchmark's clock must not sleep past what it measures.
void wait_ms(std::uint32_t milliseconds);

// p50, p90, p99, p99.9, max, mean in nanoseconds, and a histogram by powers of 2^(1/4).
nlohmann::ordered_json latency_of(std::vector<std::uint32_t> samples_ns);

}  // namespace gcoord::bench
