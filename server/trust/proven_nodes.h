// Nodes that have proven that they have the secret of the cluster, as a data directory remembers
// them: whoever comes without a proof under such a node's id is somebody else.
//
// A file of a few lines, `proven.nodes`, mode 0600, replaced atomically. It only makes the node
// stricter, so a file that cannot be read or written costs no more than that: the log says so and
// the node goes on. One thread.
#pragma once

#include "common/ids.h"

#include <string>
#include <vector>

namespace gcoord::server {

class ProvenNodes {
 public:
  // Of this data directory, which need not be there yet.
  explicit ProvenNodes(const std::string& data_dir);

  // By rising number.
  const std::vector<NodeId>& nodes() const { return nodes_; }

  // One more, durably. Does nothing for one that is known.
  void add(NodeId node);

 private:
  std::string path_;
  std::vector<NodeId> nodes_;
};

}  // namespace gcoord::server
