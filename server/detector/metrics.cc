#include "server/detector/metrics.h"

#include <string>

namespace gcoord::server {

namespace {

Counter& counter(MetricsRegistry& registry, const char* name, const char* help) {
  return registry.counter({.name = std::string("gcoord_detector_") + name, .help = help});
}

Counter& dropped(MetricsRegistry& registry, const char* reason) {
  return registry.counter({"gcoord_detector_datagrams_dropped_total",
                           "Datagrams that were dropped: malformed, of another cluster or for "
                           "another node (foreign), or of no node of the view (stranger)",
                           "reason",
                           reason});
}

}  // namespace

DetectorMetrics::DetectorMetrics(MetricsRegistry& registry, bool speaks_for_turn)
    : registry_(registry),
      speaks_for_turn_(speaks_for_turn),
      sent_(counter(registry, "datagrams_sent_total", "Datagrams of failure detection sent")),
      bytes_(counter(registry,
                     "datagram_bytes_total",
                     "Bytes of datagrams of failure detection, sent and received")),
      unsent_(
          counter(registry, "datagrams_unsent_total", "Datagrams that the system did not take")),
      malformed_(dropped(registry, "malformed")),
      foreign_(dropped(registry, "foreign")),
      strangers_(dropped(registry, "stranger")),
      elsewhere_(counter(registry,
                         "datagrams_elsewhere_total",
                         "Datagrams of nodes from another host than their address says")),
      probes_(counter(registry, "probes_total", "Probes of other nodes on the own account")),
      rounds_(counter(registry,
                      "rounds_total",
                      "Rounds of urgent probes of a node that was doubted, also through others")),
      relayed_(counter(registry, "relayed_total", "Probes made for other nodes")),
      refusals_(counter(registry,
                        "refusals_total",
                        "Answers of hosts that no process listens at a node's address")),
      suspicions_(counter(registry, "suspicions_total", "How often this node came to suspect one")),
      own_gaps_(counter(registry,
                        "own_gaps_total",
                        "Standstills of the own loop, after which nobody is suspected for them")),
      proposals_(counter(registry,
                         "proposals_total",
                         "Marks in the cluster view that this node proposed, or to take away")),
      health_(registry.gauge(
          {"gcoord_detector_own_doubt", "How much this node doubts itself: 0 to 8"})),
      alarms_(registry.gauge({"gcoord_member_alarms", "Alarms about the cluster view, armed"})) {}

void DetectorMetrics::set_nodes(std::span<const membership::WatchedNode> nodes) {
  // Those of nodes that left stay in the registry, as nodes that nobody suspects.
  for (auto& [id, gauges] : nodes_) {
    gauges.verdict->set(0);
    gauges.mark->set(0);
    gauges.phi->set(0);
    gauges.silence->set(0);
    if (gauges.turn_phi != nullptr) {
      gauges.turn_phi->set(0);
    }
  }
  nodes_.clear();
  for (const membership::WatchedNode& node : nodes) {
    const std::string id = std::to_string(node.id.value);
    nodes_[node.id] = {
        .verdict = &registry_.gauge({"gcoord_detector_verdict",
                                     "How this node holds the peer: 0 alive, 1 doubted, 2 suspect",
                                     "peer",
                                     id}),
        .mark = &registry_.gauge({"gcoord_view_suspect",
                                  "Whether the cluster view marks the peer as suspect",
                                  "peer",
                                  id}),
        .phi = &registry_.gauge(
            in(MetricUnit::Thousandths,
               {"gcoord_detector_phi",
                "-log10 of the probability that the peer's next heartbeat or datagram is still to "
                "come",
                "peer",
                id})),
        .silence = &registry_.gauge(in(MetricUnit::Thousandths,
                                       {"gcoord_detector_silence_seconds",
                                        "Time since the peer was heard, directly or through others",
                                        "peer",
                                        id})),
        .received = &registry_.counter({"gcoord_detector_datagrams_received_total",
                                        "Datagrams of the peer that were taken",
                                        "peer",
                                        id})};
    if (speaks_for_turn_) {
      nodes_[node.id].turn_phi = &registry_.gauge(
          in(MetricUnit::Thousandths,
             {"gcoord_server_peer_phi",
              "-log10 of the probability that the peer's next heartbeat is still to come",
              "peer",
              id}));
    }
  }
}

void DetectorMetrics::show_mark(NodeId node, bool suspect) {
  if (const auto found = nodes_.find(node); found != nodes_.end()) {
    found->second.mark->set(suspect ? 1 : 0);
  }
}

void DetectorMetrics::on_received(NodeId from, std::size_t bytes) {
  bytes_.add(bytes);
  if (const auto found = nodes_.find(from); found != nodes_.end()) {
    found->second.received->add();
  }
}

void DetectorMetrics::on_sent(std::size_t bytes) {
  sent_.add();
  bytes_.add(bytes);
}

void DetectorMetrics::on_dropped(membership::MessageFault fault) {
  (fault == membership::MessageFault::Foreign ? foreign_ : malformed_).add();
}

void DetectorMetrics::show(std::span<const membership::NodeSight> sights,
                           const membership::DetectorCounts& counts) {
  for (const membership::NodeSight& sight : sights) {
    if (const auto found = nodes_.find(sight.node); found != nodes_.end()) {
      found->second.verdict->set(static_cast<std::int64_t>(sight.verdict));
      found->second.phi->set(membership::phi_milli(sight.phi));
      if (found->second.turn_phi != nullptr) {
        found->second.turn_phi->set(membership::phi_milli(sight.phi));
      }
      found->second.silence->set(static_cast<std::int64_t>(sight.silent_for_ms));
    }
  }
  probes_.add(counts.probes - shown_.probes);
  rounds_.add(counts.rounds - shown_.rounds);
  relayed_.add(counts.relayed - shown_.relayed);
  refusals_.add(counts.refusals - shown_.refusals);
  suspicions_.add(counts.suspicions - shown_.suspicions);
  own_gaps_.add(counts.own_gaps - shown_.own_gaps);
  shown_ = counts;
}

}  // namespace gcoord::server
