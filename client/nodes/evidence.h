// Nodes as callers and messages see them: where each is, whether it is connected, why it is not.
//
// Pure but for what it reads of the nodes; the client's thread only.
#pragma once

#include "client/nodes/node_entry.h"
#include "gcoord/status.h"
#include "gcoord/types.h"
#include "protocol/hello.h"

#include <span>
#include <string>
#include <vector>

namespace gcoord::client {

class NodeSet;

// "127.0.0.1:7001: Connection refused; ...": why nodes that are not ready are not.
std::string evidence_of(const NodeEntries& entries);

// The entries in use, and those of the cluster's nodes that no entry is of, by node.
std::vector<NodeView> views_of(const NodeEntries& entries,
                               std::span<const protocol::NodeAddress> cluster);

// Ok when a majority of the cluster is connected, without which nobody can answer for all of it:
// lists would look empty, and watches would wait in silence. Else GC5001 with how many of how many
// can be reached; GC3001 when none can be.
Status majority(const NodeSet& nodes);

// Why no node is ready: GC3001, or where all of them failed for a reason with a number, the highest
// of these, which trying again does not mend.
Status unreachable(const NodeSet& nodes);

// Evidence: "1 of 3 nodes can be reached". Once a node has told of the cluster.
std::string reachable(const NodeSet& nodes);

}  // namespace gcoord::client
