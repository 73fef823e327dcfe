// The services of a node beside its lock service that clients ask: snapshots, pruning, watches,
// reads of the past, levels of the log, the cluster view, and failure detection.
//
// It is made when the engine is open. The watches observe what the lock service applies, so this
// ends after the engine has ended; but snapshots read what the engine keeps, so end_snapshots()
// comes before that. One thread, the loop's; threads of its own only wake it.
#pragma once

#include "protocol/reply_sink.h"
#include "server/access/node_access.h"
#include "server/audit/node_audit.h"
#include "server/gate/client_gate.h"
#include "server/history/ledger_pruning.h"
#include "server/interfaces/replicated_log.h"
#include "server/limits/node_limits.h"
#include "server/lock_service/lock_service.h"
#include "server/log/level_requests.h"
#include "server/members/node_members.h"
#include "server/node/dear_requests.h"
#include "server/node/detection.h"
#include "server/node/ledger_stack.h"
#include "server/node/request_table.h"
#include "server/reads/historical_reads.h"
#include "server/snapshots/downloads.h"
#include "server/watch/hub.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace gcoord {
class MetricsRegistry;
}  // namespace gcoord

namespace gcoord::ledger {
class SpaceGuard;
}  // namespace gcoord::ledger

namespace gcoord::server {

struct NodeOptions;

class ClientServices {
 public:
  // All outlive it, but for `engine` (see above). `wake` wakes the loop, from any thread.
  struct Environment {
    const NodeOptions& options;
    protocol::ReplySink& replies;
    MetricsRegistry& metrics;
    ReplicatedLog& engine;
    LockService& service;
    LedgerStack& ledger;
    std::function<void()> wake;
    IdentityRequests& identities;
  };

  // The lock service's observer is set to the watches. `space`: of the data directory; outlives it.
  ClientServices(Environment parts, const ledger::SpaceGuard& space);
  ClientServices(const ClientServices&) = delete;
  ClientServices& operator=(const ClientServices&) = delete;

  // By which requests reach these and the lock service. This outlives it. `now_ms`: the node's
  // clock.
  RequestRouter router(std::function<std::uint64_t()> now_ms);

  // Once per pass, before the turn: dear requests whose turn has come. Whether there were any.
  bool serve_dear(const DearRequests::Others& others) {
    return dear_.serve(environment_.service.now_us(), others);
  }

  // The client reads again, or is gone.
  void on_room(protocol::ConnectionId connection) { dear_.on_room(connection); }

  // After each turn. `now_ms`: of the node's clock, which only grows. Whether there is more to be
  // done at once.
  bool advance(std::uint64_t now_ms);

  // For how many milliseconds the loop may sleep for the sake of advance() and serve_dear().
  std::uint64_t until_next_deadline_ms() const;

  // Before the engine ends. No request and no advance() may come after it; what the engine still
  // applies reaches the watches.
  void end_snapshots() { snapshots_.reset(); }

  WatchHub& watches() { return watches_; }

  HistoricalReads& past() { return past_; }

  NodeMembers& members() { return members_; }

  ClientGate& gate() { return gate_; }

  NodeAccess& access() { return access_; }

  NodeAudit& audit() { return audit_; }

  NodeLimits& limits() { return limits_; }

  Detection& detection() { return detection_; }

  // What is known of the roles: a node that has just begun may not have them yet.
  RolesStand roles_stand() const { return roles_.stand(); }

 private:
  // Whether the log takes records now, and all nodes have the feature that one of a kind needs.
  bool may_record(protocol::Feature feature) const;
  SnapshotDownloads::Environment snapshot_environment();
  NodeMembers::Environment member_environment();
  AccessRequests::Environment access_environment();
  NodeAudit::Environment audit_environment();
  NodeAudit::Options audit_options() const;
  LimitRequests::Environment limits_environment();
  LimitJudge::Environment judge_environment();
  NodeDetector::Environment detector_environment();
  LedgerPruning::Environment pruning_environment();
  WatchHub::Environment watch_environment();
  HistoricalReads::Environment past_environment();
  WatchReplay::Reader history_reader();
  RequestGate::Environment gate_environment();

  // Whether the age of this node's copy of the roles matters.
  bool follows_roles() const {
    return gate_.requests.follows_roles() || roles_stand() != RolesStand::Known;
  }

  RolesStand stand_at_start() const;

  Environment environment_;
  const ledger::SpaceGuard& space_;
  std::unique_ptr<SnapshotDownloads> snapshots_;
  LedgerPruning pruning_;
  ClientGate gate_;
  RolesCopy roles_;
  WatchHub watches_;
  HistoricalReads past_;
  LogLevelRequests log_levels_;
  NodeMembers members_;
  NodeAccess access_;
  NodeAudit audit_;
  NodeLimits limits_;
  Detection detection_;  // Proposes to members_.
  DearRequests dear_;
};

}  // namespace gcoord::server
