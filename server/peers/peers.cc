#include "server/peers/peers.h"

#include <algorithm>
#include <string>

namespace gcoord::server {

using consensus::LivenessChange;
using consensus::PeerLiveness;

ReplicaPeers::ReplicaPeers(std::span<const netcore::PeerAddress> peers,
                           Incarnation self,
                           const consensus::Timing& timing,
                           consensus::Durability durability)
    : self_(self), timing_(timing), heartbeats_(self, peers, timing.resend_ticks) {
  for (const netcore::PeerAddress& address : peers) {
    PeerLiveness record{.node = address.id};
    record.lives_by_start = durability == consensus::Durability::Memory ? 1 : 0;
    records_.push_back(record);
    // The least deviation is half an interval: two that are missing make phi 4.5, and the election
    // timeout is at least three away. One tick of delay is nothing.
    suspicions_.emplace_back(
        membership::FailureDetectorOptions{.interval_ticks = timing.resend_ticks,
                                           .deviation_ticks_min = timing.resend_ticks / 2.0,
                                           .lapse_ticks = timing.election_ticks});
  }
}

bool ReplicaPeers::on_heartbeat(NodeId from, const consensus::Heartbeat& heartbeat, Tick now) {
  const auto found = std::find_if(records_.begin(),
                                  records_.end(),
                                  [from](const PeerLiveness& each) { return each.node == from; });
  if (found == records_.end()) {
    return false;
  }
  PeerLiveness& peer = *found;
  membership::FailureDetector& suspicion =
      suspicions_[static_cast<std::size_t>(found - records_.begin())];
  const Incarnation life = peer.incarnation;
  const Tick newest = peer.peer_tick;
  const LivenessChange change = consensus::on_heartbeat(peer, heartbeat, self_, now, timing_);
  if (peer.incarnation != life) {
    suspicion.forget();
  }
  // Words that came out of order say nothing that was not known.
  if (peer.incarnation != life || peer.peer_tick != newest) {
    suspicion.on_heartbeat(now);
  }
  return change != LivenessChange::None;
}

void ReplicaPeers::register_gauges(MetricsRegistry& registry) {
  for (const PeerLiveness& peer : records_) {
    gauges_.push_back(&registry.gauge(
        {.name = "gcoord_server_peer_phi",
         .help = "-log10 of the probability that the peer's next heartbeat is still to come",
         .label_key = "peer",
         .label_value = std::to_string(peer.node.value),
         .unit = MetricUnit::Thousandths}));
  }
}

void ReplicaPeers::show_suspicions(Tick now) {
  for (std::size_t k = 0; k < gauges_.size(); ++k) {
    gauges_[k]->set(membership::phi_milli(phi(k, now)));
  }
}

bool ReplicaPeers::refresh(Tick now) {
  bool changed = false;
  for (PeerLiveness& peer : records_) {
    changed |= consensus::refresh(peer, now, timing_) != LivenessChange::None;
  }
  return changed;
}

void ReplicaPeers::send_heartbeats(netcore::PeerNetwork& network, Tick now, std::uint64_t durable) {
  heartbeats_.send(network, now, durable, [this](std::size_t k) {
    return Heartbeats::Echo{records_[k].peer_tick, records_[k].incarnation};
  });
}

Tick ReplicaPeers::next_deadline() const {
  Tick next = records_.empty() ? kTickNever : heartbeats_.next();
  for (const PeerLiveness& peer : records_) {
    if (peer.live != 0) {
      next = min_id(next, peer.heard + timing_.election_ticks);
      next = min_id(next, peer.acked_send + (timing_.election_ticks - timing_.lease_margin_ticks));
    }
  }
  return next;
}

}  // namespace gcoord::server
