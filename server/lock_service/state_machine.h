// The replicated state of the lock service: committed commands change the lock tables, in log order
// per shard.
//
// Deterministic, but for the answers: they go to the clients of the node that proposed. State comes
// and goes whole as bytes, equal for equal states. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "locks/cpu/lock_cpu.h"
#include "server/interfaces/apply_observer.h"
#include "server/interfaces/state_machine.h"
#include "server/lock_service/lock_moves.h"
#include "server/lock_service/outcomes.h"
#include "server/lock_service/pending_commands.h"
#include "server/rendezvous/requests.h"
#include "server/requests/service_clock.h"
#include "server/requests/service_metrics.h"
#include "server/requests/session_admission.h"
#include "server/requests/shard_leaders.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gcoord::server {

class LockStateMachine {
 public:
  struct Environment {
    GroupParts parts;  // And the machines by them.
    const ServiceClock& clock;
    const ShardLeaders& leaders;
    PendingCommands& commands;
    Outcomes& outcomes;
    LockMoves& moves;
    SessionAdmission& admission;
    LockServiceMetrics& metrics;
  };

  LockStateMachine(std::uint32_t shard_count, const Environment& environment);

  // Observes what is applied from now on (apply_tap.h); it outlives the engine's calls.
  void set_tap(ApplyObserver* tap);

  // Who is told when that observer begins and ends to look.
  void on_observed(std::function<void(bool)> listener);

  // See service.h.
  void apply(const AppliedEntry& entry);
  void serialize(ShardId shard, std::vector<std::byte>& bytes) const;
  Status install(ShardId shard, std::span<const std::byte> bytes);
  static bool plausible(std::span<const std::byte> bytes);
  std::uint64_t state_hash(ShardId shard) const;

  // The log index that the shard's tables show: of the newest entry that was applied here, or of a
  // later one whose doings are in the tables already; 0: none since the shard's state came whole.
  LogIndex applied(ShardId shard) const;

 private:
  locks::LockReply decide(const AppliedEntry& entry, locks::LockEvents& events);
  void note_groups();
  void note_hash(const AppliedEntry& entry);
  Status install_locks(ShardId shard, std::span<const std::byte> locks);
  void note_effects(const AppliedEntry& entry, locks::LockCode code);

  Environment env_;
  GroupMachine& machine_;
  // Pages of shards that never had an entry in this life cost nothing.
  MappedColumn<std::uint64_t> applied_;
  // The state hash of the locks after that entry, where tables may be ahead of it; else nothing.
  MappedColumn<std::uint64_t> hashes_;
  std::vector<locks::LockEvent> events_;
  ApplyObserver* tap_ = nullptr;
  std::function<void(bool)> observed_;
};

}  // namespace gcoord::server
