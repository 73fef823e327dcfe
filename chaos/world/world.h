// A whole cluster in one process and one thread: machines, nodes, clients, the network between them
// and the faults that befall them, on one logical clock, from one seed.
//
// First the safety phase: load and faults. Then everything is healed, clients finish what they
// began and check what they hold, and the cluster must converge within bounds in election
// timeouts (L1 of docs/internals/faults.md). At the end the checkers judge everything
// (world_judge.h).
#pragma once

#include "chaos/groups/group_members.h"
#include "chaos/members/member_judge.h"
#include "chaos/members/member_operator.h"
#include "chaos/promises/turn_watch.h"
#include "chaos/world/client_wire.h"
#include "chaos/world/fault_class.h"
#include "chaos/world/power_count.h"
#include "chaos/world/recovery_audit.h"
#include "chaos/world/world_client.h"
#include "chaos/world/world_judge.h"
#include "chaos/world/world_node.h"
#include "chaos/world/world_options.h"
#include "netcore/transport/simulated_network.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::chaos {

class Nemesis;

struct WorldResult {
  std::string violation;  // Empty: none.
  bool undecided = false;
  std::uint64_t digest = 0;
  FaultCounts faults{};
  PowerCounts power{};
  std::uint64_t acknowledged = 0;
  std::uint64_t operations = 0;
  std::uint64_t weak_reads = 0;      // Serializable, bounded and monotonic ones that were answered.
  std::uint64_t quorum_reads = 0;    // Answered, that forbade the lease.
  std::uint64_t group_requests = 0;  // Answered, of members of groups.
  std::uint64_t lost = 0;
  SessionTally sessions;  // Of all clients.
  std::uint64_t simulated_ms = 0;
  std::uint64_t steps_checked = 0;  // Of devices, done again on the host.
  std::uint64_t led_ms = 0;         // From healing until every shard had a leader.
};

class World {
 public:
  explicit World(const WorldOptions& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  WorldResult run();

  // The safety phase only, so long, without a verdict.
  void load_for(std::uint64_t ms);

  // For the nemesis.
  const WorldOptions& options() const { return options_; }

  std::uint64_t now_us() const { return now_us_; }

  WorldNode& node(std::uint32_t index) { return *nodes_[index]; }

  std::vector<std::unique_ptr<WorldClient>>& clients() { return clients_; }

  netcore::SimulatedNetwork& network() { return network_; }

  ClientWire& wire() { return wire_; }

  WorldJudge& judge() { return judge_; }

  RecoveryAudit& audit() { return audit_; }

  // Of what the judge was told: for writing it down.
  const WorldJudge& judge() const { return judge_; }

  std::uint64_t moment_ns();

  // All nodes run, all vote everywhere, none has forgotten anything: memory mode may lose one.
  bool remembers_all();

  // Empty: every shard has a leader on a node that runs.
  std::string why_unled();

  // Nodes that have ever had a machine, or an id; those at the beginning come first.
  std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes_.size()); }

  // Whether the newest view of the cluster has the node as one that has left.
  bool has_left(NodeId node) const;

  // Whether the cluster survives it if the node's machine is gone for ever.
  bool may_lose(NodeId node) const;

  void note_lost(NodeId node) { members_->by->lose(node); }

 private:
  // In worlds whose nodes come and go.
  struct Membership {
    MemberJudge judge;
    std::unique_ptr<MemberOperator> by;
  };

  void add_nodes();
  void add_node(NodeId id);
  void add_clients();
  void add_operator();
  void add_group_members();
  void start_member(NodeId id, const protocol::ClusterView& view);
  void on_step(const SeenStep& step);
  NodeId any_node(std::uint64_t choice) const;
  void on_message(const consensus::Message& message, std::uint32_t life);
  void report_if(const std::string& broken);
  void step();
  bool converged();
  bool shard_converged(ShardId shard);
  // Those that are to be equal at the end: all, or those of the newest view.
  std::vector<WorldNode*> present();
  std::string why_members_move();
  void end_in_peace();
  void audit_history();
  // To the judge, where the world is to come to rest.
  void report_restless(const std::string& what, std::uint64_t timeouts, const std::string& why);
  bool lives_without(WorldNode& by, NodeId lost) const;
  std::string why_not_converged();

  WorldOptions options_;
  std::uint64_t now_us_ = 1'000'000;
  std::uint64_t moment_ns_ = 0;
  netcore::SimulatedNetwork network_;
  ClientWire wire_;
  WorldJudge judge_;
  RecoveryAudit audit_;
  TurnWatch watch_;
  std::optional<Membership> members_;
  std::map<std::string, std::uint64_t> guarded_;
  std::vector<std::unique_ptr<WorldNode>> nodes_;
  std::vector<std::unique_ptr<WorldClient>> clients_;
  GroupMembers group_members_;
  std::unique_ptr<Nemesis> nemesis_;
  WorldResult result_;
};

}  // namespace gcoord::chaos
