// The messages that the steps of rows send, gathered for the turn's end; snapshots that they ask
// for are begun by send_snapshots(). One thread at a time.
#pragma once

#include "consensus/step/message.h"
#include "netcore/peers/network.h"
#include "server/host_turn/lane_calls.h"
#include "server/host_turn/outflow.h"
#include "server/peers/peers.h"
#include "server/replicas/metrics.h"
#include "server/replicas/replica_rows.h"
#include "server/replicas/snapshot_sender.h"

#include <cstdint>
#include <vector>

namespace gcoord::server {

class RowMessages {
 public:
  // All outlive it.
  struct Environment {
    ReplicaRows& rows;
    LaneCalls& calls;
    ReplicaMetrics& metrics;
    ReplicaOutflow& outflow;
    SnapshotSender& sender;
    netcore::PeerNetwork& network;
    const ReplicaPeers& peers;
  };

  explicit RowMessages(const Environment& environment) : env_(environment) {}

  void send(std::uint32_t row, const consensus::Message& message);

  // Begins the snapshots that wait, as the channels take them: after the steps, before anything is
  // applied.
  void send_snapshots();

  void shrink() { wanted_.shrink_to_fit(); }

 private:
  struct WantedSnapshot {
    std::uint32_t row = 0;
    consensus::Message message;
  };

  void send_snapshot(std::uint32_t row, consensus::Message message);

  Environment env_;
  std::vector<WantedSnapshot> wanted_;
};

}  // namespace gcoord::server
