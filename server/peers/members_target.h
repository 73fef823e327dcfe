// Members that every shard is to have, from the view of the cluster (docs/adr/0108).
//
// Pure; thread-safe.
#pragma once

#include "consensus/step/members_plan.h"
#include "server/interfaces/cluster_members.h"

namespace gcoord::server {

// Voters and witnesses that are active or draining vote. Observers, and whoever is joining and has
// come, learn. Nobody else is a member. Only those that are active and no witness keep leaderships.
// A view without voters, as before view 1, wants nothing. Of more nodes than a target holds,
// voters come first.
consensus::MembersTarget members_target(const ClusterMembers& members);

}  // namespace gcoord::server
