// Nodes whose turns run on devices, or as their host twins, in one process: as many as the shape
// has voters. On devices there are three.
//
// What: the memory, the channels and the service of each node, over a registry of its own, and the
// questions that tests and benchmarks ask. On a host somebody calls turn_node() for whichever node
// he likes, at whatever time he says; on devices turn_device.h runs them. Clients of a node are the
// host's end of its client channel, one lane per stripe.
// Contract: reading is exact when nothing runs; words for running nodes are stored by a copy. A
// cluster outlives what runs on it. Host code, one thread.
#pragma once

#include "chaos/device_turn/counted_log.h"
#include "chaos/device_turn/counting_node.h"
#include "common/status.h"
#include "ledger/trees/follow.h"
#include "netcore/gpu_channel/gpu_channel.h"
#include "netcore/memory/registry.h"
#include "server/device_turn/clock.h"
#include "server/device_turn/page_pool.h"
#include "server/device_turn/scratch.h"
#include "server/device_turn/view.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gcoord::chaos {

struct TurnClusterOptions {
  server::TurnShape shape;
  server::TurnTiming timing;       // Seed and deadline are per run.
  std::uint32_t ring_slots = 512;  // Of every lane between nodes.
  std::uint32_t client_slots = 64;
  bool clients = true;
  std::uint32_t stripe_pages = 0;  // Log pages of a stripe; 0: one for each row.
  std::uint32_t timed_row = 0;
  std::uint64_t seed = 1;
  // Blocks of threads that hash what a node decides, on its device; 0: nothing is hashed.
  std::uint32_t hash_blocks = 0;
  std::uint32_t tree_levels = 24;  // A shard's tree has less than 2^levels leaves.
};

// What became of one node, over all stripes.
struct NodeCounts {
  server::StripeCounts sum;                        // elected_ns: the latest of all.
  std::uint64_t readings = 0;                      // Of the clock.
  std::uint64_t lost_ns[server::kTurnPeersMax]{};  // See ClockState.
};

class TurnCluster {
 public:
  // `memory` has one source per node: of the host, or of the device that the node runs on.
  // `devices` says which nodes share one; nodes on different ones reach each other by descriptors.
  static Result<std::unique_ptr<TurnCluster>> make(
      const TurnClusterOptions& options,
      std::vector<std::unique_ptr<netcore::MemorySource>> memory,
      std::span<const int> devices);
  ~TurnCluster();
  TurnCluster(const TurnCluster&) = delete;
  TurnCluster& operator=(const TurnCluster&) = delete;

  const TurnClusterOptions& options() const { return options_; }

  std::uint32_t node_count() const { return options_.shape.voters; }

  const CountingNode& node(std::uint32_t n) const { return nodes_[n]->view; }

  server::TurnTiming timing(std::uint32_t n) const;

  // The trees of the node's rows, and the log that they follow; with hash_blocks only.
  const ledger::MerkleFollower& follower(std::uint32_t n) const { return nodes_[n]->follower; }

  CountedLog counted_log(std::uint32_t n) const;

  // Blocks that hash for a node and have begun: counted by themselves, on devices.
  std::uint32_t* blocks_taken(std::uint32_t n) const { return nodes_[n]->hash_taken; }

  Result<std::uint32_t> blocks_begun(std::uint32_t n);

  // The host's end of the node's client channel.
  netcore::GpuChannelDevice client(std::uint32_t n) const;

  // Replaces a node's pool of log pages by one of so many by stripe; nothing runs on it. As
  // PagePool::resize.
  Status resize_pages(std::uint32_t n, std::uint32_t stripe_pages);
  Result<server::PageCounts> page_counts(std::uint32_t n);

  // --- Words for running nodes
  Status feed(std::uint32_t n, std::uint32_t batch);
  Status time_commands(std::uint32_t n, std::uint32_t samples);
  Status wake(std::uint32_t n);
  Status abort(std::uint32_t n);
  // Whoever hashes leaves once everything that is decided is in the trees.
  Status end_hashing(std::uint32_t n);

  // --- Answers
  Result<NodeCounts> counts(std::uint32_t n);
  Result<std::vector<CountedRow>> service_rows(std::uint32_t n);
  Result<std::vector<LogIndex>> applied(std::uint32_t n);
  Result<std::vector<std::uint32_t>> samples(std::uint32_t n);
  // By row: up to where the turn wants it hashed (ledger::kNoTree: not at all), leaves of its tree,
  // and its root when roots were last folded.
  Result<std::vector<std::uint64_t>> decided(std::uint32_t n);
  Result<std::vector<std::uint64_t>> hashed(std::uint32_t n);
  Result<std::vector<Sha256Words>> roots(std::uint32_t n);
  // Over all blocks that have left; life_ns is that of all of them together.
  Result<ledger::FollowCounts> follow_counts(std::uint32_t n);
  std::size_t memory_bytes(std::uint32_t n) const;

 private:
  struct Node {
    std::unique_ptr<netcore::MemoryRegistry> registry;
    std::unique_ptr<server::PagePool<CountingService>> pages;
    CountingNode view;
    ledger::MerkleFollower follower;
    std::uint64_t* hash_end = nullptr;
    std::uint32_t* hash_taken = nullptr;
    std::unique_ptr<netcore::GpuChannel> channel[server::kTurnPeersMax];
    std::unique_ptr<netcore::GpuChannel> client_device;
    std::unique_ptr<netcore::GpuChannel> client_host;
    std::uint64_t wakes = 0;
  };

  explicit TurnCluster(const TurnClusterOptions& options) : options_(options) {}

  Status carve(std::uint32_t n);
  Status carve_trees(std::uint32_t n);
  Status join(std::uint32_t one, std::uint32_t other, bool same_device);
  Status open_clients(std::uint32_t n);
  Status order(std::uint32_t n, std::uint64_t word);
  Status store(std::uint32_t n, std::uint64_t& word, std::uint64_t value);
  template <typename T>
  Result<std::vector<T>> copy(std::uint32_t n, const T* from, std::size_t count);

  TurnClusterOptions options_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

// A cluster in host memory, its rows as empty replicas.
Result<std::unique_ptr<TurnCluster>> make_host_turn_cluster(const TurnClusterOptions& options);

// The host twin of one node: reads its clock at `now_ns` and turns every stripe once. Whether any
// row was stepped.
class HostNode {
 public:
  HostNode(TurnCluster& cluster, std::uint32_t n);
  ~HostNode();

  bool turn(std::uint64_t now_ns);

 private:
  struct Stripes;
  template <typename Service>
  struct StripesOf;
  std::unique_ptr<Stripes> stripes_;
};

// The host twin of what hashes one node's log: one pass of every block over its chunks. Entries
// that it added.
std::uint64_t hash_on_host(TurnCluster& cluster, std::uint32_t n, bool all);

// Folds the roots of a node of a host cluster.
void fold_on_host(TurnCluster& cluster, std::uint32_t n);

}  // namespace gcoord::chaos
