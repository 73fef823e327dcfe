#include "server/peers/heartbeats.h"

namespace gcoord::server {

void Heartbeats::send_one(netcore::PeerNetwork& network, NodeId to, const Word& word) const {
  network.heartbeat(to,
                    {.incarnation = self_,
                     .send_tick = word.now,
                     .echoed_peer_send_tick = word.echo.peer_tick,
                     .echoed_incarnation = word.echo.peer_incarnation,
                     .durable = word.durable});
}

}  // namespace gcoord::server
