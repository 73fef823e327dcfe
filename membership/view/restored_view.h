// The view of a cluster that was restored from a snapshot. Pure; thread-safe.
#pragma once

#include "membership/view/table.h"

#include <span>

namespace gcoord::membership {

// The saved view one epoch on, for these nodes: those that it had keep name and labels, new ones
// get a default name, and the others are tombstones. Nobody's address is known, until the nodes
// describe themselves. A saved view of epoch 0 stays none.
ClusterView restored_view(const ClusterView& saved, std::span<const NodeId> nodes);

}  // namespace gcoord::membership
