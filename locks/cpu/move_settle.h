// Correction of one shard's tables, where the states of others know more of a moved name
// (move_survey.h). Host only.
#pragma once

#include "common/ids.h"
#include "locks/cpu/move_survey.h"
#include "locks/state/demand.h"
#include "locks/state/table.h"

namespace gcoord::locks {

// The rows that settle_move() takes.
LockDemand demand_of(const MoveFix& fix);

// Brings the name to where other shards' states leave it. Of a state that no node runs on yet; the
// pools have room.
void settle_move(const LockTables& tables, ShardId shard, const MoveFix& fix);

}  // namespace gcoord::locks
