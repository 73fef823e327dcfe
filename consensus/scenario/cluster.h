// An in-memory cluster of nodes over the pure step, driven by hand.
//
// Nothing happens by itself but what a command causes: `tick` lets time pass and lets the nodes
// exchange heartbeats, and `settle` lets messages, storage and application run until nothing is
// left to do, except where links, storage or application are held for the scenario to release.
// Equal options and commands give equal columns. The invariants are checked after every round of
// turns. Host only; one thread.
#pragma once

#include "consensus/scenario/configuration_change.h"
#include "consensus/scenario/invariants.h"
#include "consensus/scenario/link_network.h"
#include "consensus/scenario/node.h"
#include "consensus/scenario/trace.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::consensus::scenario {

struct ClusterOptions {
  std::uint32_t nodes = 3;
  std::uint32_t shards = 1;
  std::uint64_t seed = 1;
  std::uint32_t inbox_messages = 1;
  Timing timing{
      .election_ticks = 20, .resend_ticks = 2, .stagger_ticks = 2, .lease_margin_ticks = 2};
  StepLimits limits;
  Durability durability = Durability::Durable;
  Members members;  // Empty: every node is a voter.
  // Clocks may differ by more than the lease margin allows for. Then leases and the reads that
  // trust them are not judged; everything else is.
  bool clocks_astray = false;
  StepperFactory make_stepper = make_cpu_stepper;
};

class Cluster {
 public:
  // The nodes have just started for the first time and heard of each other. InvalidArgument when an
  // option is out of range or the members make no configuration.
  static Result<std::unique_ptr<Cluster>> create(const ClusterOptions& options);

  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Tells `observer`, which outlives the cluster, of everything from now on.
  void watch(Observer& observer);

  std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes_.size()); }

  std::uint32_t shard_count() const { return options_.shards; }

  // Nodes are numbered from 1; asserts on others.
  Node& node(NodeId node);

  LinkNetwork& network() { return network_; }

  Trace& trace() { return trace_; }

  void tick(std::uint32_t count);

  // Runs turns until nobody has anything to do.
  void settle();

  // Asks for a read round and returns its number; the verdict comes in the trace.
  std::uint64_t read(NodeId node, ShardId shard, ReadProof proof = ReadProof::LeaseOrRound);

  // Ticks that the node's lease of the shard still runs by its own clock; 0 if it holds none.
  std::uint64_t lease_ticks(NodeId node, ShardId shard);

  // Makes the storage request under way durable and acknowledges it. False if none is.
  bool acknowledge_storage(NodeId node, ShardId shard);

  // Puts a forged message on its link. Entries are made up to fit it.
  void inject(const Message& message);

  // Sends the leader's snapshot as the step would, whether the receiver needs it or not.
  void force_snapshot(NodeId from, NodeId to, ShardId shard);

  // Of every column of every running node and of every service.
  std::uint64_t digest();

  std::vector<std::string> take_violations() { return checker_.take_violations(); }

 private:
  class Fanout;

  Cluster(const ClusterOptions& options, const Configuration& configuration);

  void exchange_heartbeats();

  ClusterOptions options_;
  LinkNetwork network_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Trace trace_;
  InvariantChecker checker_;
  std::unique_ptr<Fanout> observers_;
  std::uint64_t read_sequence_ = 0;
};

}  // namespace gcoord::consensus::scenario
