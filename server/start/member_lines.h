// Changes of the nodes of a cluster from one view to another, for the operator log. Pure;
// thread-safe.
#pragma once

#include "common/ids.h"
#include "protocol/members/cluster_view.h"

#include <string>
#include <vector>

namespace gcoord::server {

// One line for each change, by rising node; `self` is this node. Nothing where there was no view
// before.
std::vector<std::string> member_lines(const protocol::ClusterView& before,
                                      const protocol::ClusterView& after,
                                      NodeId self);

}  // namespace gcoord::server
