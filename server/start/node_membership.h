// The members of the cluster, on their way from the log of shard 0 to the parts of a node.
//
//   NodeMembers -> hear() ... advance(): kept in the directory, then the parts and the log
//
// What is heard counts from the next advance() on, because it is heard inside of the engine's turn,
// and because it has to be durable first. Before view 1 nothing is told and nothing written: the
// parts go by the fixed list. One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "ledger/disk/disk.h"
#include "ledger/disk/room.h"
#include "server/interfaces/cluster_members.h"
#include "server/start/members_keeper.h"
#include "server/start/node_start.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace gcoord::server {

class NodeMembership {
 public:
  struct Environment {
    ledger::DiskRoom& room;  // Of the data directory. Both outlive it.
    MetricsRegistry& metrics;
    std::function<void(const ClusterMembers&)> go_by;  // Called with the members that count then.
  };

  // Failures: the disk's.
  static Result<std::unique_ptr<NodeMembership>> open(const NodeStart& start,
                                                      Environment environment);

  // Once, when the parts are there and before the first turn: tells what the directory has.
  void start();

  // What the log has now.
  void hear(const ClusterMembers& said) { said_ = said; }

  // After each turn of the engine, before anything leaves the node. `now_ms`: of the node's clock.
  // Failures: NodeRemoved, when the view has this node as one that has left; those of
  // MembersKeeper::take.
  Status advance(std::uint64_t now_ms);

  // Why the engine ended. A node that has left by its own view will know at its next start; what
  // only the others say, which nothing proves, it asks them again.
  Status ended(Status why);

  // The epoch of the view by which it will go after any crash.
  std::uint64_t kept_epoch() const { return keeper_.kept_epoch(); }

  // What the node goes by.
  const ClusterMembers& members() const { return keeper_.members(); }

 private:
  NodeMembership(const NodeStart& start,
                 Environment environment,
                 std::unique_ptr<ledger::Disk> disk);

  void tell(const protocol::ClusterView& before);

  NodeId self_;
  std::unique_ptr<ledger::Disk> disk_;
  MembersKeeper keeper_;
  std::function<void(const ClusterMembers&)> go_by_;
  std::optional<ClusterMembers> said_;
  std::uint64_t next_retry_ms_ = 0;
  std::array<Gauge*, 5> by_state_;
};

}  // namespace gcoord::server
