// Members that every shard is to have, from the view of the cluster (docs/adr/0108).
//
// Pure; thread-safe.
#pragma once

#include "consensus/step/members_plan.h"
#include "server/interfaces/cluster_members.h"

namespace gcoord::server {

struct MembersTargets {
  consensus::MembersTarget shards;
  // Of kViewShard: whoever leaves learns there until it has left. Views go on while it leaves, and
  // each of them is left only once its voters say a newer one, leaving ones among them
  // (server/members/followers.h); and so it hears that it is removed.
  consensus::MembersTarget views;

  const consensus::MembersTarget& of(ShardId shard) const {
    return shard == kViewShard ? views : shards;
  }

  friend bool operator==(const MembersTargets& a, const MembersTargets& b) = default;
};

// Voters and witnesses that are active or draining vote. Observers, and whoever is joining and has
// come, learn. Nobody else is a member. Only those that are active and no witness keep leaderships.
// A view without voters, as before view 1, wants nothing. Of more nodes than a target holds,
// voters come first and those that leave last.
MembersTargets members_targets(const protocol::ClusterView& view);

}  // namespace gcoord::server
