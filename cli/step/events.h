// Events of a scenario cluster as JSON objects, in order.
//
// Always: "transition", "commit", "proposal", "configuration", "read", "snapshot_installed" and
// "dropped". "message", "persist", "durable", "liveness" and "applied" only after `verbose`. One
// thread.
#pragma once

#include "common/json/value.h"
#include "consensus/scenario/observer.h"

#include <string>

namespace gcoord::cli {

// A 64-bit number as the doors write it.
template <typename Id>
std::string text64(Id id) {
  return std::to_string(id.value);
}

// Term, indices and the rest of a message that are not 0.
Json message_json(const consensus::Message& message);

// {"voters": [{"node": 1, "weight": 1}], "outgoing": [...], "learners": [...], ...}.
Json configuration_json(const consensus::Configuration& configuration);

class StepEvents final : public consensus::scenario::Observer {
 public:
  void set_verbose(bool verbose) { verbose_ = verbose; }

  // The events since the last call.
  Json take();

  void on_step(const consensus::scenario::StepReport& report) override;
  void on_send(const consensus::scenario::Packet& packet,
               consensus::scenario::SendFate fate,
               const consensus::scenario::Replica& sender) override;
  void on_liveness(NodeId node,
                   const consensus::PeerLiveness& peer,
                   consensus::LivenessChange change) override;
  void on_persist(NodeId node, ShardId shard, const consensus::StorageRequest& request) override;
  void on_durable(NodeId node, ShardId shard, const consensus::StorageAck& ack) override;
  void on_unroutable(NodeId node) override;

 private:
  Json& add(const char* event, NodeId node, ShardId shard);
  void add_transition(const consensus::scenario::StepReport& report);
  void add_log(const consensus::scenario::StepReport& report);
  void add_verdicts(const consensus::scenario::StepReport& report);

  bool verbose_ = false;
  Json events_ = Json::array();
};

}  // namespace gcoord::cli
