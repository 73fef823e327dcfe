// The entries and states of a stopped resident node, as its services hear of them.
//
// They stand in the directory in the form of a device (docs/adr/0029): entries of 64 bytes, names
// and records in pieces, states behind a head. The rows that a running node reads them by
// (server/resident/engine/rows.h) read them here, over memory of the host in which no turn runs, so
// what comes of them is the same. One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "consensus/step/configuration.h"
#include "ledger/checkpoint/checkpoint_store.h"
#include "ledger/directory/identity_file.h"
#include "server/interfaces/state_machine.h"
#include "server/resident/engine/requests.h"
#include "server/resident/engine/rows.h"
#include "server/resident/engine/storage.h"
#include "server/resident/node/node.h"

#include <memory>

namespace gcoord::server {

class ResidentLog {
 public:
  struct Environment {
    const consensus::Configuration& founders;  // The nodes, of which a device has numbers.
    StateMachine& inner;                       // Gets what services get; outlives this.
  };

  // nullptr: the store is no resident node's. Failures: the store's; ForceUnfit for as many nodes
  // as no resident turn has.
  static Result<std::unique_ptr<ResidentLog>> open(const ledger::CheckpointStore& store,
                                                   const ledger::NodeIdentity& identity,
                                                   const Environment& environment);
  ResidentLog(const ResidentLog&) = delete;
  ResidentLog& operator=(const ResidentLog&) = delete;

  // For a recovery (server/replicas/recovery.h).
  StateMachine& machine() { return stored_; }

  // Of which index the shard's state is: it may be ahead of the log, if it came from another host.
  LogIndex applied(ShardId shard) const { return rows_.applied(shard); }

 private:
  ResidentLog(std::unique_ptr<ResidentNode> node, StateMachine& inner);

  std::unique_ptr<ResidentNode> node_;
  ResidentRequests requests_;
  ResidentRows rows_;
  StoredStateMachine stored_;
};

}  // namespace gcoord::server
