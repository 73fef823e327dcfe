// Links over a SimulatedNetwork, for whole nodes in a simulated world.
//
// A link is opened by a call and an answer that travel the network like any message and can be
// lost; the peer network's time limits cover that. Messages on a link may be lost, repeated or
// reordered: channels tolerate it (credit.h). Closing sends a notice that can be lost too: the
// other side then learns of it by silence. The address of a node is its id as the port; the host is
// ignored. Each message carries 64 bytes of link header, so that what follows stays aligned.
#pragma once

#include "netcore/transport/simulated_network.h"
#include "netcore/transport/transport.h"

#include <memory>

namespace gcoord::netcore {

// Who moves the network's clock: the nodes, each to what it thinks is the time, or whoever drives
// the world, where nodes' clocks differ.
enum class SimulatedTime : std::uint8_t { OfNodes, OfDriver };

// The endpoint of `node`, whose life is `life`: a restarted node passes another number, and what
// was under way to its earlier life is refused. The network outlives the endpoint. One endpoint per
// node at a time.
std::unique_ptr<Transport> make_simulated_transport(SimulatedNetwork& network,
                                                    NodeId node,
                                                    std::uint32_t life,
                                                    SimulatedTime time = SimulatedTime::OfNodes);

}  // namespace gcoord::netcore
