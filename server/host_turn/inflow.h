// Dispatch of peers' messages after their checks: messages and snapshots to rows, heartbeats to the
// liveness records, services' bytes to the service.
//
// Everything here comes from outside. It is checked in form (kinds, shards, who speaks to whom,
// entries and chunks within bounds) and dropped and counted if it cannot be; whether it is true is
// the step's business. Heartbeats are kept until the turn's tick was read, because the promise that
// a heartbeat renews must not be dated before the heartbeat was sent. One thread.
#pragma once

#include "common/ids.h"
#include "consensus/step/message.h"
#include "consensus/step/row_map.h"
#include "netcore/peers/network.h"
#include "server/host_turn/arrivals.h"
#include "server/interfaces/state_machine.h"
#include "server/interfaces/vote_observer.h"
#include "server/replicas/active.h"
#include "server/replicas/metrics.h"
#include "server/replicas/recoveries.h"
#include "server/replicas/snapshot_assembly.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::server {

class ReplicaInflow final : public netcore::Sink {
 public:
  // Where the messages of one lane's rows go.
  struct Lane {
    const consensus::RowMap& map;  // Messages for shards that no lane holds are dropped.
    ActiveRows& rows;
    // Messages to rows that nothing else waits for, of the kinds that may be settled: for
    // settler.h, which clears them.
    Arrivals& arrivals;
  };

  // What the engine does besides when a channel came up or died.
  struct ChannelEvents {
    std::function<void(NodeId)> up;
    std::function<void(NodeId)> down;
    std::function<void(NodeId, const netcore::Refusal&)> refused;
  };

  struct ReceivedHeartbeat {
    NodeId from;
    consensus::Heartbeat heartbeat;
    std::uint64_t durable = 0;  // How far the sender's log of record reaches.
  };

  // All outlive it.
  struct Environment {
    NodeId self;
    std::vector<Lane> lanes;
    Recoveries::Deal deal;  // The lane of each slice.
    StateMachine& service;
    ReplicaMetrics& metrics;
    VoteObserver* votes = nullptr;  // nullptr: there is none.
  };

  ReplicaInflow(Environment environment, ChannelEvents events);

  void on_frame(NodeId from,
                netcore::Band band,
                std::span<const netcore::Slot> slots,
                const netcore::PayloadView& payloads) override;
  void on_heartbeat(NodeId from, const netcore::Heartbeat& heartbeat) override;
  void on_peer_up(NodeId peer, Incarnation incarnation, std::uint32_t epoch) override;
  void on_peer_down(NodeId peer, std::string_view reason) override;
  void on_refused(NodeId peer, const netcore::Refusal& refusal) override;

  // Heartbeats since the last call, in order. The caller clears the list.
  std::vector<ReceivedHeartbeat>& heartbeats() { return heartbeats_; }

 private:
  // A row of a lane.
  struct Target {
    Lane& lane;
    std::uint32_t row = 0;
  };

  void on_slot(NodeId from,
               netcore::Band band,
               const netcore::Slot& slot,
               std::span<const std::byte> extent);
  void on_message(const Target& target,
                  const consensus::Message& message,
                  std::span<const std::byte> extent);
  void on_chunk(const Target& target,
                const consensus::Message& message,
                std::span<const std::byte> extent);
  bool well_formed(NodeId from, const consensus::Message& message) const;
  void observe(const consensus::Message& message);

  Environment env_;
  ChannelEvents events_;
  SnapshotAssembly assembly_;
  std::vector<ReceivedHeartbeat> heartbeats_;
};

}  // namespace gcoord::server
