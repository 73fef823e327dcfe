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
#include <span>
#include <vector>

namespace gcoord::server {

class ReplicaPeers {
 public:
  ReplicaPeers(std::span<const netcore::PeerAddress> peers,
               Incarnation self,
               const consensus::Timing& timing,
               consensus::Durability durability);

  // A heartbeat, polled before `now` was read. True: the rows are to be woken.
  bool on_heartbeat(NodeId from, const consensus::Heartbeat& heartbeat, Tick now);

  // Takes notice of the time. True: the rows are to be woken.
  bool refresh(Tick now);

  // Sends a heartbeat to every peer if one is due, with how far the log of record is durable. It
  // echoes the peer's newest one.
  void send_heartbeats(netcore::PeerNetwork& network, Tick now, std::uint64_t durable);

  // Makes one due at once: a channel came up.
  void hurry() { heartbeats_.hurry(); }

  // Without what the channels take.
  std::span<const consensus::PeerLiveness> records() const { return records_; }

  // How much the node of the record is suspected: 0, and no bound but
  // membership::FailureDetector::kPhiMax.
  double phi(std::size_t index, Tick now) const { return suspicions_[index].phi(now); }

  // A gauge for each peer, which show_suspicions() sets. The registry outlives this.
  void register_gauges(MetricsRegistry& registry);
  void show_suspicions(Tick now);

  // When send_heartbeats or refresh has something to do.
  Tick next_deadline() const;

 private:
  Incarnation self_;
  consensus::Timing timing_;
  Heartbeats heartbeats_;
  std::vector<consensus::PeerLiveness> records_;
  std::vector<membership::FailureDetector> suspicions_;  // By record.
  std::vector<Gauge*> gauges_;  // By record; none before register_gauges().
};

}  // namespace gcoord::server
