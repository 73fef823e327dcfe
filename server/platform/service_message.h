// Bytes from the service of one node to that of another, as the peer network carries them.
#pragma once

#include "common/ids.h"
#include "netcore/peers/network.h"

#include <cstddef>
#include <span>

namespace gcoord::server {

// One slot of the Rpc band with one extent. False: the peer is not connected or has no credit.
inline bool send_service_message(netcore::PeerNetwork& network,
                                 NodeId to,
                                 std::span<const std::byte> message) {
  const netcore::Slot slot{};
  const netcore::PayloadExtent extent{.slot_index = 0, .bytes = message};
  return network.send(to, netcore::Band::Rpc, {&slot, 1}, {&extent, 1});
}

}  // namespace gcoord::server
