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
    : self_(self),
      timing_(timing),
      durability_(durability),
      heartbeats_(self, peers, timing.resend_ticks) {
  for (const netcore::PeerAddress& address : peers) {
    insert(records_.size(), address.id);
  }
}

void ReplicaPeers::insert(std::size_t at, NodeId node) {
  const auto place = static_cast<std::ptrdiff_t>(at);
  PeerLiveness record{.node = node};
  record.lives_by_start = durability_ == consensus::Durability::Memory ? 1 : 0;
  records_.insert(records_.begin() + place, record);
  // The least deviation is half an interval: two that are missing make phi 4.5, and the election
  // timeout is at least three away. One tick of delay is nothing.
  suspicions_.insert(suspicions_.begin() + place,
                     membership::FailureDetector(membership::FailureDetectorOptions{
                         .interval_ticks = timing_.resend_ticks,
                         .deviation_ticks_min = timing_.resend_ticks / 2.0,
                         .lapse_ticks = timing_.election_ticks}));
}

void ReplicaPeers::add(NodeId node) {
  if (index_of(node)) {
    return;
  }
  const auto behind = std::find_if(records_.begin(),
                                   records_.end(),
                                   [node](const PeerLiveness& each) { return node < each.node; });
  const auto at = static_cast<std::size_t>(behind - records_.begin());
  insert(at, node);
  heartbeats_.insert(at, node);
  if (registry_ != nullptr) {
    register_gauge(at);
  }
}

void ReplicaPeers::remove(NodeId node) {
  const auto at = index_of(node);
  if (!at) {
    return;
  }
  const auto place = static_cast<std::ptrdiff_t>(*at);
  records_.erase(records_.begin() + place);
  suspicions_.erase(suspicions_.begin() + place);
  heartbeats_.erase(*at);
  if (registry_ != nullptr) {
    gauges_[*at]->set(0);
    gauges_.erase(gauges_.begin() + place);
  }
}

void ReplicaPeers::set_witness(NodeId node, bool witness) {
  if (const auto at = index_of(node)) {
    records_[*at].witness = witness ? 1 : 0;
  }
}

bool ReplicaPeers::is_witness(NodeId node) const {
  const auto at = index_of(node);
  return at && records_[*at].witness != 0;
}

std::optional<std::size_t> ReplicaPeers::index_of(NodeId node) const {
  for (std::size_t k = 0; k < records_.size(); ++k) {
    if (records_[k].node == node) {
      return k;
    }
  }
  return std::nullopt;
}

bool ReplicaPeers::on_heartbeat(NodeId from, const consensus::Heartbeat& heartbeat, Tick now) {
  const auto at = index_of(from);
  if (!at) {
    return false;
  }
  PeerLiveness& peer = records_[*at];
  membership::FailureDetector& suspicion = suspicions_[*at];
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
  registry_ = &registry;
  for (std::size_t k = 0; k < records_.size(); ++k) {
    register_gauge(k);
  }
}

void ReplicaPeers::register_gauge(std::size_t at) {
  Gauge& gauge = registry_->gauge(
      {.name = "gcoord_server_peer_phi",
       .help = "-log10 of the probability that the peer's next heartbeat is still to come",
       .label_key = "peer",
       .label_value = std::to_string(records_[at].node.value),
       .unit = MetricUnit::Thousandths});
  gauges_.insert(gauges_.begin() + static_cast<std::ptrdiff_t>(at), &gauge);
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
