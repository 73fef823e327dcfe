// Addresses of peers that --peer gives, beside those that the cluster view has.
//
// The view says where each node is. An operator may know better: all nodes have moved and none can
// reach another to say so, or something lies between two nodes. So an address that --peer gives
// counts for this node until the view says another one of that node than it did when --peer gave
// the address first; afterwards the command line is the older word, and the view counts. A value;
// one thread at a time.
#pragma once

#include "common/ids.h"
#include "protocol/members/cluster_view.h"
#include "server/start/kept_members.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

struct PeerHint {
  NodeId node;
  std::string address;
};

class AddressHints {
 public:
  // Before any view: nothing is replaced.
  AddressHints() = default;

  // `given`: what --peer gives now. `before`: what is kept of it and of earlier starts.
  AddressHints(std::span<const PeerHint> given,
               std::span<const KeptHint> before,
               const protocol::ClusterView& view);

  // What is to be kept, by rising node.
  const std::vector<KeptHint>& kept() const { return kept_; }

  // The address by which this node reaches the member; empty: nobody knows one.
  std::string address_of(const protocol::Member& member) const;

  // Puts those addresses into a view.
  void apply(protocol::ClusterView& view) const;

  // Where --peer and the view differ, and which counts; nodes that the view does not have, or not
  // any more. For the operator; empty where they agree.
  std::vector<std::string> differences(const protocol::ClusterView& view) const;

 private:
  const KeptHint* hint_of(NodeId node) const;

  std::vector<KeptHint> kept_;
};

}  // namespace gcoord::server
