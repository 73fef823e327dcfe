// Report about nodes that come and go and have not done so: how far the shards of each node are,
// and the first one whose members are not what the view wants.
#pragma once

#include "common/ids.h"
#include "protocol/members/cluster_view.h"
#include "server/interfaces/replicated_log.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::chaos {

// Of nodes that run.
using RunningLogs = std::vector<const server::ReplicatedLog*>;

// A bracket for each node: what it knows of the shard.
std::string shard_report(ShardId shard, const RunningLogs& logs);

std::string moves_report(const protocol::ClusterView& view,
                         const RunningLogs& logs,
                         std::uint32_t shard_count);

}  // namespace gcoord::chaos
