// What the nodes of a world know of a shard, as text for whoever reads why it went wrong.
#pragma once

#include "chaos/world/world_node.h"
#include "common/ids.h"

#include <string>
#include <vector>

namespace gcoord::chaos {

// A bracket for each node: its view of the shard, and its configuration. Running nodes.
std::string shard_report(ShardId shard, const std::vector<WorldNode*>& nodes);

}  // namespace gcoord::chaos
