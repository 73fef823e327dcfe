// Three running nodes for one measurement, and their end.
//
// Contract: start, measure, stop; a node that is not told to leave leaves by itself when its time
// is over. Host code of a CUDA build, one thread.
#pragma once

#include "chaos/device_turn/tree_device.h"
#include "chaos/device_turn/turn_device.h"
#include "common/json/value.h"
#include "common/status.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
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
  // Of all nodes; what hashes ends after them, with everything hashed and the roots folded.
  Status stop_all();

  // Stops feeding and waits until all replicas have applied equally much.
  Status rest();

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
  std::array<std::unique_ptr<chaos::HashingNode>, server::kTurnNodes> hashing_;
};

// Where rates count, the stripes of a multiprocessor keep pace.
inline constexpr std::uint32_t kBlockStripes = server::kBlockStripesMax;
inline constexpr std::uint64_t kTickNs = 100'000;

// The devices of all nodes by their names, "cuda:0,cuda:1"; "cpu" is the first one.
Result<TurnDevices> devices_of(const std::string& text);

// Nodes of the most crowded device.
std::uint32_t crowd_of(const TurnDevices& devices);

// Stripes of a node that fill the most crowded device, but for so many multiprocessors that hash
// for each of its nodes.
Result<std::uint32_t> stripes_for(const TurnDevices& devices, std::uint32_t hash_processors = 0);

chaos::TurnClusterOptions options_for(std::uint32_t shards, std::uint32_t stripes);

// What the turns of each node took, and what became of what they said.
Result<Json> counts_of(TurnRun& run);

// Spins; a benchmark's clock must not sleep past what it measures.
void wait_ms(std::uint32_t milliseconds);

// p50, p90, p99, p99.9, max, mean in nanoseconds, and a histogram by powers of 2^(1/4).
Json latency_of(std::vector<std::uint32_t> samples_ns);

}  // namespace gcoord::bench
