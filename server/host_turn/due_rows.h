// The rows that time, or a bulk wake, brings into a turn of a lane: not more at once than are
// sensible.
//
// Elections of very many shards at once are not decided sooner for it: their messages wait for each
// other until those who sent them try again (docs/adr/0102). So rows begin a campaign while there
// is room; the others stay due. One thread at a time.
#pragma once

#include "server/replicas/replica_rows.h"

#include <cstdint>

namespace gcoord::server {

// Rows that one cause brings into a turn of a node: a bulk wake, deadlines, acknowledgements. A
// turn stays at a few milliseconds when a million shards want something at once, so heartbeats go
// on.
inline constexpr std::uint32_t kRowsPerTurn = 4096;

// Touches due rows and those of a bulk wake. `parts`: lanes of the node, which share its bounds.
void collect_due(Tick now, ReplicaRows& rows, std::uint32_t parts);

}  // namespace gcoord::server
