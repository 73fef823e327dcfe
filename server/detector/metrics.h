// Metrics of failure detection: gauges for each other node, and counters of datagrams.
//
// The registry outlives it. One thread.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "membership/detector/detector.h"
#include "membership/detector/message.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace gcoord::server {

class DetectorMetrics {
 public:
  // `speaks_for_turn`: gcoord_server_peer_phi, too, which is the turn's own elsewhere
  // (server/peers/peers.h).
  DetectorMetrics(MetricsRegistry& registry, bool speaks_for_turn);

  void set_nodes(std::span<const membership::WatchedNode> nodes);

  void on_received(NodeId from, std::size_t bytes);
  void on_sent(std::size_t bytes);

  void on_unsent() { unsent_.add(); }

  void on_dropped(membership::MessageFault fault);

  void on_stranger() { strangers_.add(); }

  // A node spoke from an address that is not its own.
  void on_elsewhere() { elsewhere_.add(); }

  void on_proposal() { proposals_.add(); }

  // Whether the view marks the node as suspect.
  void show_mark(NodeId node, bool suspect);

  void show(std::span<const membership::NodeSight> sights,
            const membership::DetectorCounts& counts);

  void show_health(std::uint32_t score) { health_.set(score); }

  void show_alarms(std::size_t count) { alarms_.set(static_cast<std::int64_t>(count)); }

 private:
  // Of one other node.
  struct NodeGauges {
    Gauge* verdict = nullptr;
    Gauge* mark = nullptr;
    Gauge* phi = nullptr;
    Gauge* turn_phi = nullptr;  // Where the detector speaks for the turn.
    Gauge* silence = nullptr;
    Counter* received = nullptr;
  };

  MetricsRegistry& registry_;
  bool speaks_for_turn_;
  std::map<NodeId, NodeGauges> nodes_;
  membership::DetectorCounts shown_;
  Counter& sent_;
  Counter& bytes_;
  Counter& unsent_;
  Counter& malformed_;
  Counter& foreign_;
  Counter& strangers_;
  Counter& elsewhere_;
  Counter& probes_;
  Counter& rounds_;
  Counter& relayed_;
  Counter& refusals_;
  Counter& suspicions_;
  Counter& own_gaps_;
  Counter& proposals_;
  Gauge& health_;
  Gauge& alarms_;
};

}  // namespace gcoord::server
