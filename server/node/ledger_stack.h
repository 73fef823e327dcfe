// The state machines of a node between its engine and its lock service: limits, users and roles,
// the cluster view, the publication and the history of its shards; and what is shown and repaired
// of the ledger.
//
//   engine -> AuditMachine -> LimitsMachine -> AccessMachine -> ViewMachine -> PublicationService
//   -> LedgerService (of NodeHistory) -> LockService
//
// On a witness a WitnessMachine stands behind the ViewMachine, and no entry comes further.
//
//   open           before the engine: which shards are to be repaired
//   open_history   by the engine, as soon as its directory is its own
//   recovered      when the engine is open: history has what was applied
//   start          the publication begins
//   pass, end_turn once per pass of the loop, before and after the engine's turn
//
// It ends after the engine, which calls it until its threads are joined; after that and before
// this ends, stop_listening(). One thread, the loop's, but for settle().
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "ledger/disk/room.h"
#include "server/access/machine.h"
#include "server/audit/machine.h"
#include "server/history/history.h"
#include "server/history/node_ledger.h"
#include "server/history/publication_service.h"
#include "server/interfaces/replicated_log.h"
#include "server/interfaces/state_machine.h"
#include "server/limits/machine.h"
#include "server/members/view_machine.h"
#include "server/options/options.h"
#include "server/snapshots/stream.h"
#include "server/witness/machine.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace gcoord::server {

class LedgerStack {
 public:
  // All outlive it; `inner` is the lock service.
  LedgerStack(const NodeOptions& options, StateMachine& inner, MetricsRegistry& metrics);
  LedgerStack(const LedgerStack&) = delete;
  LedgerStack& operator=(const LedgerStack&) = delete;

  // Once. As NodeLedger::open. `room` of the data directory outlives this.
  Status open(ledger::DiskRoom& room);

  // ReplicaOptions::on_directory. Shards that are repaired begin without history.
  // What history writes waits for `room`, which outlives this.
  Status open_history(ledger::DiskRoom& room);

  // Waits until history has what was applied. Failures: history's, by which --rejoin is found to
  // be needed.
  Status recovered();

  // `wake` wakes the loop, from any thread. As NodeLedger::start.
  Status start(const ReplicatedLog& engine, std::function<void()> wake);

  // After start(): bounds the histories of all shards together; 0: no bound.
  void bound(std::uint64_t bytes_max);

  // ReplicaOptions::before_checkpoint, by the thread of the checkpoints: on return all is durable
  // that must be before one.
  Status settle();

  // As NodeLedger::pass, and the turn that tells the others before the node is opened again.
  Status pass(ReplicatedLog& engine);

  // As NodeHistory::end_turn.
  Status end_turn(bool rests) { return history_.end_turn(rests); }

  // Nothing is published any more.
  void stop_listening() {
    publication_.set_listener(nullptr);
    views_.set_listener(nullptr);
    access_.set_listener(nullptr);
    limits_.set_listener(nullptr);
    audit_.set_listener(nullptr);
  }

  // The state machine that the engine calls, with the notes of sessions.
  AuditMachine& audit() { return audit_; }

  // That of limits.
  LimitsMachine& limits() { return limits_; }

  // That of users and roles.
  AccessMachine& access() { return access_; }

  ViewMachine& machine() { return views_; }

  // The nodes' keys, as the log of shard 0 has them.
  const PublicationState& publication() const { return publication_.publication(); }

  NodeHistory& history() { return history_; }

  // For downloads: the tree of a shard at one of its sizes.
  FrontierAt frontiers();

  // After open().
  NodeLedger& ledger() { return *ledger_; }

 private:
  const NodeOptions& options_;
  MetricsRegistry& metrics_;
  NodeHistory history_;
  PublicationService publication_;
  WitnessMachine witness_;  // Stands between, or is not used.
  ViewMachine views_;
  AccessMachine access_;
  LimitsMachine limits_;
  AuditMachine audit_;
  std::unique_ptr<NodeLedger> ledger_;
};

}  // namespace gcoord::server
