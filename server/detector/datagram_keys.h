// Keys by which the datagrams of failure detection are tagged.
//
// With a secret of the cluster they are made of it, of the one before as well, so that nodes go on
// while it is replaced. Where nodes need not prove themselves yet, the cluster's id is a key, too:
// nodes without a secret have no other. A node is answered by the key that its own datagrams have,
// as long as it is taken at all, and else by the newest. One thread.
#pragma once

#include "common/ids.h"
#include "common/siphash.h"
#include "security/secret/cluster_secret.h"

#include <map>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

// `secret`: nullptr where the cluster has none. `required`: other nodes must prove that they have
// it. The newest first.
std::vector<SipKey> datagram_keys(ClusterId cluster,
                                  const security::ClusterSecret* secret,
                                  bool required);

class DatagramKeys {
 public:
  // At least one, the newest first.
  explicit DatagramKeys(std::vector<SipKey> taken) : taken_(std::move(taken)) {}

  void change(std::vector<SipKey> taken) { taken_ = std::move(taken); }

  std::span<const SipKey> taken() const { return taken_; }

  // The node's datagrams are tagged by it.
  void hear(NodeId node, const SipKey& key) { heard_[node] = key; }

  // For what is sent to the node.
  const SipKey& of(NodeId node) const;

 private:
  std::vector<SipKey> taken_;
  std::map<NodeId, SipKey> heard_;  // Of nodes of the view alone, so it is bounded.
};

}  // namespace gcoord::server
