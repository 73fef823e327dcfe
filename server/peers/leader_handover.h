// Gives the shards that a node leads to the other nodes, so that nobody has to miss this node for
// an election timeout when it stops. One thread.
#pragma once

#include "server/interfaces/cluster_members.h"
#include "server/interfaces/replicated_log.h"

#include <cstdint>

namespace gcoord::server {

// Begins a transfer of each shard that is led here, by turns to the living peers that vote. The
// transfers end with later turns of the log. Whether there is such a peer.
bool hand_over_leaders(ReplicatedLog& log,
                       const ClusterMembers& members,
                       std::uint32_t shard_count);

}  // namespace gcoord::server
