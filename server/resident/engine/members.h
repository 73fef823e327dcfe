// The cluster view as a resident node goes by it: where its peers are called, whose word counts
// about its directory, which directory a number belongs to, who is to lead, and how far its shards
// are with a node that comes in place of another one.
//
// A number is given to another directory by the view (membership::ViewCommandKind::Renew). From
// then on the lives of the old directory are refused for good and the channel with them ends, and
// until the node is a voter of the view again, only the directory that has joined may come. It is
// let in an election timeout after an old life was cut off here: that may lead by this node's last
// acknowledgement for so long. Which nodes there are does not change while the kernels run: a view
// of a resident cluster never adds a number nor takes one away (docs/adr/0163). One thread, the
// engine's, between turns.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "netcore/memory/admission.h"
#include "netcore/peers/network.h"
#include "server/interfaces/cluster_members.h"
#include "server/interfaces/replica_view.h"
#include "server/peers/directory_claim.h"
#include "server/peers/members_target.h"
#include "server/peers/peer_list.h"
#include "server/replicas/options.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>

namespace gcoord::server {

class ResidentNode;

// Channels stand in for those peers that have none, until they are found.
Status stand_in_for(ResidentNode& node, std::span<const netcore::PeerAddress> peers);

class ResidentMembers {
 public:
  // `identity` outlives it.
  ResidentMembers(ledger::IdentityFile& identity, const ReplicaOptions& options);

  struct Environment {
    netcore::PeerNetwork& network;
    std::function<std::uint64_t()> now_ms;
    std::function<Incarnation(NodeId)> life_of;  // Of a peer, as it was met last; 0: not yet.
    std::function<Status(NodeId)> cut;           // Ends the device's channel to it.
  };

  // The members from now on; older ones than the last are dropped. A failure is the node's end:
  // kDirectoryRefused where its own number is another directory's, or what `cut` returned.
  Status follow(const ClusterMembers& members, const Environment& environment);

  // What the view says of a peer that greets; what directories remember comes beside it.
  netcore::Admission judge(const netcore::PeerIdentity& peer, std::uint64_t now_ms) const;

  // The claim of this node's directory: all other numbers vote, whoever has them.
  DirectoryClaim& claim() { return claim_; }

  const DirectoryClaim& claim() const { return claim_; }

  // Whether the view names this very directory as the one that the peer's number belongs to: as
  // good as a proof that a higher generation of it is no lie, however many there were.
  bool vouches_for(const netcore::PeerIdentity& peer) const;

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

  // Whose the number of a peer is, where it has been another directory's before.
  struct Place {
    Incarnation least;   // Lives of earlier generations are over.
    bool joins = false;  // By the view: then only `directory` may come; 0: nobody yet.
    std::uint64_t directory = 0;
    std::uint64_t open_ms = 0;  // Nobody before that.
  };

  MembersProgress look(const Led& led) const;
  Status follow_place(const protocol::Member& member, const Environment& environment);

  NodeId self_;
  DirectoryClaim claim_;
  PeerList list_;
  std::uint64_t election_ms_;
  Incarnation own_;
  std::map<NodeId, Place> places_;
  MembersTargets targets_;
  std::uint64_t epoch_ = 0;
  mutable Looked looked_;
};

}  // namespace gcoord::server
