// The cluster view as a resident node goes by it: where its peers are called, whose word counts
// about its directory, who is to lead, and how far its shards are with a node that comes in place
// of another one.
//
// Which nodes there are does not change while the kernels run: a view of a resident cluster never
// adds a number nor takes one away (docs/adr/0163). One thread, the engine's, between turns.
#pragma once

#include "common/ids.h"
#include "netcore/peers/network.h"
#include "server/interfaces/cluster_members.h"
#include "server/interfaces/replica_view.h"
#include "server/peers/directory_claim.h"
#include "server/peers/members_target.h"
#include "server/peers/peer_list.h"
#include "server/replicas/options.h"

#include <cstdint>
#include <functional>

namespace gcoord::server {

class ResidentMembers {
 public:
  // `identity` outlives it.
  ResidentMembers(ledger::IdentityFile& identity, const ReplicaOptions& options);

  // The members from now on; older ones than the last are dropped.
  void follow(const ClusterMembers& members, netcore::PeerNetwork& network);

  // The claim of this node's directory; until there is a view all peers vote.
  DirectoryClaim& claim() { return claim_; }

  const DirectoryClaim& claim() const { return claim_; }

  // False for one that drains or joins by the view: it would hand a leadership on at once.
  bool keeps_leaderships(NodeId node) const;

  // Of this node's shards: `view` of each of `shard_count`, `led` that it leads, and whether a peer
  // is heard. Looks at the shards only while somebody joins, and then twice a second at most.
  struct Led {
    std::uint32_t shard_count = 0;
    std::uint32_t led = 0;
    std::uint64_t now_ms = 0;
    std::function<ShardView(ShardId)> view;
    std::function<bool(NodeId)> is_live;
  };

  MembersProgress progress(const Led& led) const;

 private:
  // What the last look at the shards found.
  struct Looked {
    std::uint64_t at_ms = 0;
    MembersProgress found;
  };

  MembersProgress look(const Led& led) const;

  NodeId self_;
  DirectoryClaim claim_;
  PeerList list_;
  MembersTargets targets_;
  std::uint64_t epoch_ = 0;
  mutable Looked looked_;
};

}  // namespace gcoord::server
