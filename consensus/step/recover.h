// Recovery of a row from stable storage, before the first step of a process.
#pragma once

#include "consensus/step/log_runs.h"
#include "consensus/step/outbox.h"
#include "consensus/step/shard_table.h"

namespace gcoord::consensus {

// What a replica knew when its process ended, as its owner recovered it from stable storage.
struct RecoveredShard {
  Term term;
  NodeId vote;
  LogIndex floor;  // The checkpoint: entries begin behind it.
  Term floor_term;
  // Newest stored StorageRequest::commit. Entries up to here count as applied when they are
  // recovered: the owner applies them to the service before the first step.
  LogIndex commit;
  Configuration configuration;  // As the entries up to commit say.
  // It may have promised more than storage knows of. In memory mode all behind the floor is lost:
  // then term is floor_term, vote and commit say nothing, and no entries follow. In durable mode
  // the rest is what an old copy of the directory holds, or nothing.
  bool forgetful = false;
};

// Resets a row to a recovered replica without entries behind the floor. Its role is follower of
// nobody; the owner wakes it in the first turn, which sets its timer.
GCOORD_HD inline void recover(ShardRef shard, const RecoveredShard& recovered, NodeId self) {
  GCOORD_ASSERT(recovered.floor_term <= recovered.term);
  GCOORD_ASSERT(shard.slot_count() <= kReplicaSlots);
  shard.hot() = Hot{};
  shard.hot().term = recovered.term;
  shard.hot().vote = recovered.vote;
  shard.hot().self_slot = slot_of(recovered.configuration, self);
  shard.hot().flags = recovered.forgetful ? kRowForgetful : std::uint8_t{0};
  shard.log() = Log{};
  shard.log().last = recovered.floor;
  shard.log().commit = recovered.floor;
  shard.log().applied = recovered.floor;
  shard.log().floor = recovered.floor;
  shard.log().floor_term = recovered.floor_term;
  shard.runs() = LogRuns{};
  shard.storage() = Storage{};
  shard.storage().durable = recovered.floor;
  shard.storage().persist_from = recovered.floor + 1;
  shard.storage().pending_last = recovered.floor;
  shard.storage().durable_term = recovered.term;
  shard.storage().durable_vote = recovered.vote;
  shard.election() = Election{};
  shard.configuration() = recovered.configuration;
  for (std::uint32_t slot = 0; slot < shard.slot_count(); ++slot) {
    shard.progress(slot) = Progress{};
  }
}

// One durable entry behind the present end of the log; `commit` is RecoveredShard::commit again.
// Asserts that terms do not fall and stay within the row's own. Run slots always suffice: a run was
// forgotten only when its entries were decided, and the request that stored its successor carried
// that commit index.
GCOORD_HD inline void recover_entry(ShardRef shard, Term term, EntryKind kind, LogIndex commit) {
  Log& log = shard.log();
  GCOORD_ASSERT(term <= shard.hot().term);
  GCOORD_ASSERT(has_room(log, shard.runs(), term));
  append_entries(log, shard.runs(), 1, term);
  log.commit = max_id(log.commit, min_id(commit, log.last));
  log.applied = log.commit;
  if (kind == EntryKind::Configuration) {
    shard.log().configuration_pending = shard.log().last;
  }
  shard.storage().durable = shard.log().last;
  shard.storage().persist_from = shard.log().last + 1;
  shard.storage().pending_last = shard.log().last;
}

}  // namespace gcoord::consensus
