// The messages that the steps of rows send: gathered for the turn's end, or a snapshot begun. One
// thread.
#pragma once

#include "consensus/step/message.h"
#include "netcore/peers/network.h"
#include "server/host_turn/outflow.h"
#include "server/interfaces/state_machine.h"
#include "server/replicas/metrics.h"
#include "server/replicas/replica_rows.h"
#include "server/replicas/snapshot_sender.h"

#include <cstdint>

namespace gcoord::server {

class RowMessages {
 public:
  // All outlive it.
  struct Environment {
    ReplicaRows& rows;
    StateMachine& service;
    ReplicaMetrics& metrics;
    ReplicaOutflow& outflow;
    SnapshotSender& sender;
    netcore::PeerNetwork& network;
  };

  explicit RowMessages(const Environment& environment) : env_(environment) {}

  void send(std::uint32_t row, const consensus::Message& message);

 private:
  void send_snapshot(std::uint32_t row, consensus::Message message);

  Environment env_;
};

}  // namespace gcoord::server
