// Observers of a scenario: the trace and the invariant checker.
//
// Calls come in the order of events; references live for the call only. Host only.
#pragma once

#include "consensus/scenario/link_network.h"
#include "consensus/step/inbox.h"
#include "consensus/step/liveness.h"
#include "consensus/step/outbox.h"
#include "consensus/step/shard_table.h"

#include <cstdint>

namespace gcoord::consensus::scenario {

class Replica;

// One step of one row.
struct StepReport {
  NodeId node;
  const Hot& before;
  const Log& log_before;
  const Inbox& in;
  const Outbox& out;
  const Replica& replica;
};

class Observer {
 public:
  virtual ~Observer() = default;

  // Right after the step, before its outbox is carried out.
  virtual void on_step(const StepReport& report) { static_cast<void>(report); }

  // After the outbox was carried out.
  virtual void on_carried_out(const StepReport& report) { static_cast<void>(report); }

  // A message left; `sender` has carried out everything that comes before it.
  virtual void on_send(const Packet& packet, SendFate fate, const Replica& sender) {
    static_cast<void>(packet);
    static_cast<void>(fate);
    static_cast<void>(sender);
  }

  virtual void on_liveness(NodeId node, const PeerLiveness& peer, LivenessChange change) {
    static_cast<void>(node);
    static_cast<void>(peer);
    static_cast<void>(change);
  }

  virtual void on_persist(NodeId node, ShardId shard, const StorageRequest& request) {
    static_cast<void>(node);
    static_cast<void>(shard);
    static_cast<void>(request);
  }

  virtual void on_durable(NodeId node, ShardId shard, const StorageAck& ack) {
    static_cast<void>(node);
    static_cast<void>(shard);
    static_cast<void>(ack);
  }

  // A message for a shard or from a node that the cluster does not have.
  virtual void on_unroutable(NodeId node) { static_cast<void>(node); }
};

}  // namespace gcoord::consensus::scenario
