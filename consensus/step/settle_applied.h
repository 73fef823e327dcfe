// Acknowledges applied entries to a row between two steps.
//
// An owner that applies within the turn that decided, and whose rows lie in its own memory, need
// not step a row once more to say so: of a step whose inbox says nothing but `applied`, this is all
// that changes. A configuration is another matter: what it changes belongs to a step
// (InboxHead::configuration_input). Pure; host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/ids.h"
#include "consensus/step/log_runs.h"
#include "consensus/step/shard_table.h"

namespace gcoord::consensus {

// The row's ApplyRequest was carried out up to `applied`, without a configuration in it. True: more
// is decided and stored than it asked for, so the row wants a step that asks for the rest.
GCOORD_HD inline bool settle_applied(ShardRef shard, LogIndex applied) {
  Log& log = shard.log();
  GCOORD_ASSERT_ALL(applied > log.applied, applied <= log.commit);
  GCOORD_ASSERT(shard.storage().apply_pending != 0);
  log.applied = applied;
  shard.storage().apply_pending = 0;
  return applied < min_id(log.commit, shard.storage().durable);
}

// Forgets the entries up to `to`, which is applied; LogIndex{0}: none.
GCOORD_HD inline void settle_compaction(ShardRef shard, LogIndex to) {
  compact(shard.log(), shard.runs(), to);
}

}  // namespace gcoord::consensus
