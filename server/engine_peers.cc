#include "server/engine_peers.h"

#include "common/incarnation.h"

#include <algorithm>

namespace gcoord::server {

using consensus::LivenessChange;
using consensus::PeerLiveness;

EnginePeers::EnginePeers(std::span<const netcore::PeerAddress> peers,
                         Incarnation self,
                         const consensus::Timing& timing,
                         consensus::Durability durability)
    : self_(self), timing_(timing) {
  for (const netcore::PeerAddress& address : peers) {
    PeerLiveness record{.node = address.id};
    record.lives_by_start = durability == consensus::Durability::Memory ? 1 : 0;
    records_.push_back(record);
  }
}

bool EnginePeers::on_heartbeat(NodeId from, const consensus::Heartbeat& heartbeat, Tick now) {
  for (PeerLiveness& peer : records_) {
    if (peer.node == from) {
      return consensus::on_heartbeat(peer, heartbeat, self_, now, timing_) != LivenessChange::None;
    }
  }
  return false;
}

bool EnginePeers::any_replaced() const {
  return std::any_of(records_.begin(), records_.end(), [](const PeerLiveness& peer) {
    return generation_of(peer.incarnation) != 0;
  });
}

bool EnginePeers::refresh(Tick now) {
  bool changed = false;
  for (PeerLiveness& peer : records_) {
    changed |= consensus::refresh(peer, now, timing_) != LivenessChange::None;
  }
  return changed;
}

void EnginePeers::send_heartbeats(netcore::PeerNetwork& network, Tick now, std::uint64_t durable) {
  if (now < next_heartbeat_) {
    return;
  }
  next_heartbeat_ = now + timing_.resend_ticks;
  for (const PeerLiveness& peer : records_) {
    network.heartbeat(peer.node,
                      {.incarnation = self_,
                       .send_tick = now,
                       .echoed_peer_send_tick = peer.peer_tick,
                       .echoed_incarnation = peer.incarnation,
                       .durable = durable});
  }
}

bool EnginePeers::credit_returned(const netcore::PeerNetwork& network) const {
  return std::any_of(records_.begin(), records_.end(), [&](const PeerLiveness& peer) {
    return peer.credit == 0 && network.credit(peer.node, netcore::Band::Consensus) > 0;
  });
}

Tick EnginePeers::next_deadline() const {
  Tick next = records_.empty() ? kTickNever : next_heartbeat_;
  for (const PeerLiveness& peer : records_) {
    if (peer.live != 0) {
      next = min_id(next, peer.heard + timing_.election_ticks);
      next = min_id(next, peer.acked_send + (timing_.election_ticks - timing_.lease_margin_ticks));
    }
  }
  return next;
}

}  // namespace gcoord::server
