// The cluster view on a simulated node: the product's parts of it, put together as a node does.
//
// Before the engine opens there is the view machine, which the engine calls; afterwards what the
// node says, hears, proposes and answers. What the members are is kept on the node's disk before
// anybody goes by it. One thread; ends after the engine.
#pragma once

#include "chaos/members/view_seam.h"
#include "chaos/mutants/mutant_views.h"
#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "protocol/reply_sink.h"
#include "server/interfaces/cluster_members.h"
#include "server/interfaces/replicated_log.h"
#include "server/lock_service/lock_service.h"
#include "server/members/node_members.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace gcoord::chaos {

class MemberViews {
 public:
  struct Options {
    NodeId node;
    std::uint32_t founders = 0;  // Nodes 1 and on, of the fixed list.
    membership::ViewSettings settings;
    Mutant mutant = Mutant::None;
    std::uint64_t seed = 0;  // For tokens.
  };

  // All outlive it.
  struct Environment {
    server::ReplicatedLog& log;
    server::LockService& service;
    protocol::ReplySink& replies;
    MetricsRegistry& metrics;
    std::function<std::uint64_t()> wall_ms;
    // Durable on return.
    std::function<void(const server::ClusterMembers&)> keep;
  };

  // `inner`: what the engine calls without a view.
  MemberViews(const Options& options, server::StateMachine& inner, ViewSeam::OnView on_view);

  // What the engine is to call.
  server::StateMachine& machine() { return seam_; }

  // The engine is open. `kept`: as the disk has it; epoch 0: none.
  void start(const Environment& environment, const server::ClusterMembers& kept);

  // Whom requests reach.
  server::NodeMembers& members() { return *members_; }

  // After each turn.
  Status advance(std::uint64_t now_ms);

  // Of the view that the node has applied; 0: none.
  std::uint64_t epoch() const { return machine_.views().view().epoch; }

  std::uint64_t until_next_deadline_ms() const { return members_->until_next_deadline_ms(); }

 private:
  void take(const server::ClusterMembers& members);
  void follow(const server::ClusterMembers& members);

  Options options_;
  std::uint64_t tokens_ = 0;  // Words drawn for them.
  std::uint64_t epoch_ = 0;   // Of the view that the node goes by.
  std::unique_ptr<MutantViews> mutant_;
  server::ViewMachine machine_;
  ViewSeam seam_;
  std::optional<Environment> environment_;
  std::unique_ptr<server::NodeMembers> members_;
};

// "simulated:3", as nodes describe where they are.
std::string simulated_address(NodeId node);

}  // namespace gcoord::chaos
