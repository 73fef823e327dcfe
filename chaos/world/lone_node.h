// A node of a simulated world without a world: nobody answers it. It is started on one disk after
// another, to see what it makes of each. One thread.
#pragma once

#include "chaos/world/world_node.h"
#include "netcore/transport/simulated_network.h"

#include <memory>
#include <string>
#include <vector>

namespace gcoord::chaos {

class LoneNode {
 public:
  // What it knows after a start.
  struct Known {
    Status opened;                   // Why it did not start, if it did not.
    std::vector<std::string> facts;  // WorldNode::recovered().
  };

  // The options of the world that the disks are from.
  LoneNode(const WorldOptions& options, NodeId id);

  // Starts on the disk, always as the same process would, and ends again; the disk is gone
  // afterwards.
  Known start(std::unique_ptr<WorldDisk> disk);

 private:
  WorldOptions options_;
  NodeId id_;
  netcore::SimulatedNetwork network_;
};

}  // namespace gcoord::chaos
