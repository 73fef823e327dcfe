// Voters and nodes of a cluster view. Pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "protocol/members/cluster_view.h"

#include <vector>

namespace gcoord::protocol {

// The nodes that count in majorities, ascending: voters and witnesses that are active, draining or
// leaving. A joining node does not count yet.
std::vector<NodeId> view_voters(const ClusterView& view);

// Whether the member's number was given to another data directory, and nobody has come with one yet
// (membership::ViewCommandKind::Renew): somebody was there before, so unlike a node that is only
// invited it has its place among the nodes. Its incarnation is the one before the first life that
// is to come.
inline bool is_renewed(const Member& member) {
  return member.invitation.has_value() && member.incarnation.value != 0;
}

// The nodes that there are processes of, ascending: neither removed nor invited for the first time.
std::vector<NodeId> view_nodes(const ClusterView& view);

}  // namespace gcoord::protocol
