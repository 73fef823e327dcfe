// The work of a node's loop that is done once a second for its disk: the operator's log hears when
// it is low, and checkpoints then let the log of record give segments back; and how fast a ledger
// grows that nothing bounds.
//
// One thread, the loop's.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "ledger/space/guard.h"
#include "server/interfaces/replicated_log.h"
#include "server/lock_service/lock_service.h"
#include "server/node/ledger_bound.h"
#include "server/node/ledger_stack.h"
#include "server/node/low_disk_checkpoints.h"
#include "server/node/node_log.h"
#include "server/options/options.h"

#include <cstdint>

namespace gcoord::server {

class DiskUpkeep {
 public:
  // All outlive it, but that the engine may end before.
  struct Environment {
    const NodeOptions& options;
    MetricsRegistry& metrics;
    ReplicatedLog& engine;
    LedgerStack& ledger;
    const LockService& service;
    const ledger::SpaceGuard& space;
    NodeLog& log;
  };

  explicit DiskUpkeep(const Environment& environment)
      : environment_(environment), growth_(environment.metrics) {}

  // Once, when the ledger is started: bounds it. now_ms: of the node's clock, which only grows.
  void start(std::uint64_t now_ms);

  void look(std::uint64_t now_ms);

  // As of the last look.
  bool is_low() const { return low_; }

  // Whether the peer may be given leaderships, as it has said.
  bool takes_leaders(NodeId peer) const { return environment_.service.takes_leaders(peer); }

 private:
  Environment environment_;
  LedgerGrowth growth_;
  LowDiskCheckpoints checkpoints_;
  bool low_ = false;
};

}  // namespace gcoord::server
