// The liveness records of the other nodes, and the heartbeats that keep them
// (docs/internals/architecture.md).
//
// Beside each record stands how much the node is suspected by the times of its heartbeats
// (membership/failure_detector.h), which people look at and nothing else.
//
// One thread. Ticks are the engine's; heartbeats are dated by the tick read after they were polled.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "consensus/step/inbox.h"
#include "consensus/step/liveness.h"
#include "membership/failure_detector.h"
#include "netcore/peers/network.h"
#include "server/peers/heartbeats.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

class ReplicaPeers {
 public:
  ReplicaPeers(std::span<const netcore::PeerAddress> peers,
               Incarnation self,
               const consensus::Timing& timing,
               consensus::Durability durability);

  // A node more, of which nothing was heard yet, in the order of the numbers. Nothing for one that
  // is here.
  void add(NodeId node);

  // Nothing is known of the node any more. It never is added again: rows may remember the sessions
  // of the record that went.
  void remove(NodeId node);

  // Whether the node is a witness, as the view says. Nothing for one that is not here.
  void set_witness(NodeId node, bool witness);
  bool is_witness(NodeId node) const;

  // A heartbeat, polled before `now` was read. True: the rows are to be woken.
  bool on_heartbeat(NodeId from, const consensus::Heartbeat& heartbeat, Tick now);

  // Takes notice of the time. True: the rows are to be woken.
  bool refresh(Tick now);

  // Sends a heartbeat to every peer if one is due, with how far the log of record is durable. It
  // echoes the peer's newest one.
  void send_heartbeats(netcore::PeerNetwork& network, Tick now, std::uint64_t durable);

  // Makes one due at once: a channel came up.
  void hurry() { heartbeats_.hurry(); }

  // Without what the channels take. Valid until a node is added or removed.
  std::span<const consensus::PeerLiveness> records() const { return records_; }

  // The node's place among the records; nothing: it has none.
  std::optional<std::size_t> index_of(NodeId node) const;

  // How much the node of the record is suspected: 0, and no bound but
  // membership::FailureDetector::kPhiMax.
  double phi(std::size_t index, Tick now) const { return suspicions_[index].phi(now); }

  // A gauge for each peer, now or added later, which show_suspicions() sets; 0 for one that was
  // removed. The registry outlives this.
  void register_gauges(MetricsRegistry& registry);
  void show_suspicions(Tick now);

  // When send_heartbeats or refresh has something to do.
  Tick next_deadline() const;

 private:
  void insert(std::size_t at, NodeId node);
  void register_gauge(std::size_t at);

  Incarnation self_;
  consensus::Timing timing_;
  consensus::Durability durability_;
  Heartbeats heartbeats_;
  std::vector<consensus::PeerLiveness> records_;
  std::vector<membership::FailureDetector> suspicions_;  // By record.
  std::vector<Gauge*> gauges_;  // By record; none before register_gauges().
  MetricsRegistry* registry_ = nullptr;
};

}  // namespace gcoord::server
