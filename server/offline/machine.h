// The state machines of a node that does not run, one before the other as in a running node:
//
//   recovery -> AuditMachine -> LimitsMachine -> AccessMachine -> ViewMachine ->
//   PublicationService -> OfflineTrees -> OfflineService
//
// Filled by a recovery (server/replicas/recovery.h) from the node's checkpoints and entries. The
// node's history is read and not written. One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/history/store.h"
#include "ledger/merkle/frontier.h"
#include "server/access/machine.h"
#include "server/audit/machine.h"
#include "server/history/publication_service.h"
#include "server/limits/machine.h"
#include "server/members/view_machine.h"
#include "server/offline/service.h"
#include "server/offline/trees.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {

class OfflineMachine {
 public:
  // The history store lies at `history_path`; opening it makes one where there is none. Failures:
  // the store's, kHistoryRot.
  static Result<std::unique_ptr<OfflineMachine>> open(const std::string& history_path,
                                                      std::uint32_t shard_count);
  OfflineMachine(const OfflineMachine&) = delete;
  OfflineMachine& operator=(const OfflineMachine&) = delete;

  StateMachine& machine() { return audit_; }

  // Why it is of no use.
  const Status& failure() const { return trees_.failure(); }

  // Of all entries that the shard was told of. Failures: as OfflineTrees::frontier.
  Result<ledger::MerkleFrontier> frontier(ShardId shard) { return trees_.frontier(shard); }

  // Appends the services' own state of the shard.
  void state(ShardId shard, std::vector<std::byte>& bytes) { service_.serialize(shard, bytes); }

  const membership::ViewCpu& views() const { return views_.views(); }

  const security::AccessCpu& access() const { return access_.state_of_access(); }

  const security::LimitCpu& limits() const { return limits_.state_of_limits(); }

  std::uint64_t newest_ms() const { return service_.newest_ms(); }

 private:
  OfflineMachine(std::unique_ptr<ledger::HistoryStore> store,
                 std::shared_ptr<const ledger::History> history,
                 std::uint32_t shard_count);

  std::unique_ptr<ledger::HistoryStore> store_;
  OfflineService service_;
  OfflineTrees trees_;
  PublicationService publication_;
  ViewMachine views_;
  AccessMachine access_;
  LimitsMachine limits_;
  AuditMachine audit_;
};

}  // namespace gcoord::server
