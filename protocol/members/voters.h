// Voters and nodes of a cluster view. Pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "protocol/members/cluster_view.h"

#include <vector>

namespace gcoord::protocol {

// The nodes that count in majorities, ascending: voters and witnesses that are active, draining or
// leaving. A joining node does not count yet.
std::vector<NodeId> view_voters(const ClusterView& view);

// The nodes that there are processes of, ascending: neither removed nor still invited.
std::vector<NodeId> view_nodes(const ClusterView& view);

}  // namespace gcoord::protocol
