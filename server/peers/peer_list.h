// The peers of a node as the views of the cluster say them: what each new view changes.
//
// Addresses: a peer that the options named stays where they say, which may be another way to it
// than the one that it describes itself by, until a view names another address than the view
// before; the options of a node that was started with a view are that view's. Views come in order;
// an older one says nothing. One thread; no calls outside.
#pragma once

#include "common/ids.h"
#include "netcore/peers/network.h"
#include "protocol/members/cluster_view.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

class PeerList {
 public:
  struct Changes {
    std::vector<netcore::PeerAddress> added;
    std::vector<netcore::PeerAddress> moved;
    // Tombstones that were not known, whether they were peers or not, and peers that have left so
    // long ago that the view has no tombstone of them.
    std::vector<NodeId> removed;
    bool removed_self = false;
  };

  // Nobody can make a node call more of them by what it says.
  static constexpr std::size_t kPeersMax = protocol::kViewNodesMax;

  // As the node was started; epoch: that of the view that the peers are of, 0: none.
  PeerList(NodeId self, std::span<const netcore::PeerAddress> peers, std::uint64_t epoch);

  // What is to be changed; nothing for a view that is older than the one so far, or is none.
  std::optional<Changes> follow(const protocol::ClusterView& view);

  // A node of a later view than the one so far, of which others say that it is at this address: a
  // peer, unless it is one already, is this node, or has left, or there are kPeersMax already.
  void meet(NodeId node, const std::string& address);

  // Peers that were met since the last call, to be added.
  std::vector<netcore::PeerAddress> take_met() { return std::exchange(met_, {}); }

  bool has_met() const { return !met_.empty(); }

  std::uint64_t epoch() const { return epoch_; }

 private:
  std::vector<NodeId> departed(const protocol::ClusterView& view) const;
  void follow_peer(const protocol::Member& member, Changes& changes);

  NodeId self_;
  std::uint64_t epoch_;
  // By peer: "host:port" as the last view named it, empty where it is not known at all; nothing:
  // the options say where, and no view has been seen that does.
  std::map<NodeId, std::optional<std::string>> peers_;
  std::set<NodeId> removed_;
  std::vector<netcore::PeerAddress> met_;
};

}  // namespace gcoord::server
