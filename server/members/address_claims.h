// Addresses that nodes say are theirs, and which of them another node has.
//
// A node that has started elsewhere says so, and the view follows (view_keeper.h). It does not
// where another node goes on saying the same address, or is silent and has it in the view: that
// would send everybody to the wrong node. Two nodes that swap their addresses both say new ones, so
// neither is in the way of the other. Pure; one thread.
#pragma once

#include "common/ids.h"
#include "protocol/members/cluster_view.h"

#include <string>
#include <vector>

namespace gcoord::server {

// A node says an address that the holder has; the view keeps the one that it has of the node.
struct AddressClash {
  NodeId node;
  NodeId holder;
  std::string said;
  std::string kept;

  friend bool operator==(const AddressClash& a, const AddressClash& b) = default;
};

// "node 3 says 10.0.0.2:7500, which node 2 has; the view keeps 10.0.0.3:7500".
std::string clash_text(const AddressClash& clash);

class AddressClaims {
 public:
  // What a node of the view says of itself or, while it says nothing, what the view has of it. Once
  // for each node that there is a process of.
  void add(const protocol::Member& said) { said_.push_back(said); }

  // What the view may have of a node from now on: what it said, but for an address that is another
  // node's, in place of which the known one stays. Each of those is noted in `clashes`. `known`: as
  // the view has it.
  protocol::Member granted(const protocol::Member& known,
                           protocol::Member said,
                           std::vector<AddressClash>& clashes) const;

 private:
  NodeId holder_of(const protocol::Member& claimant, std::string protocol::Member::*address) const;

  std::vector<protocol::Member> said_;
};

}  // namespace gcoord::server
