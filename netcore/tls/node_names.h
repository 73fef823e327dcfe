// Names of nodes in certificates: a certificate of the authority alone gives no right, it must name
// the cluster and the node.
//
// As a subject alternative name of kind URI: gcoord://CLUSTERID/node/ID, or
// spiffe://TRUST/gcoord/CLUSTERID/node/ID, with decimal numbers and nothing behind them. Pure;
// thread-safe.
#pragma once

#include "common/ids.h"
#include "security/tls/peer.h"

#include <string_view>

namespace gcoord::netcore {

// Whether the URI names this node of this cluster.
bool names_node(std::string_view uri, ClusterId cluster, NodeId node);

bool names_node(const security::TlsPeer& peer, ClusterId cluster, NodeId node);

// Whether one of them names a node at all, of whichever cluster.
bool names_some_node(const security::TlsPeer& peer);

}  // namespace gcoord::netcore
