// The number of a record in a node's log of record.
//
// Every node has its own log, so an lsn means nothing on another node; a position in a shard's
// replicated log is a LogIndex. Rises by one per record, from 1, over all segments and restarts.
// 0 is "before the first record".
#pragma once

#include "common/strong_id.h"

#include <cstdint>

namespace gcoord::ledger {

using Lsn = StrongId<struct LsnTag, std::uint64_t>;

}  // namespace gcoord::ledger
