// A lane: the rows of some slices of a node, and all that works on them in a turn
// (docs/internals/threads.md).
//
// A node's shards are divided among its lanes. In a turn each lane settles and steps its rows by
// itself, on a thread of its own when there is enough to do (turn_threads.h): it reads what the
// owner gave it at begin(), and changes nothing outside itself but counters. What leaves a lane
// waits until all have met: messages in `outflow`, items of the log of record in `record`, calls of
// the service in `calls`, decided entries in the queue of apply(). So it decides nothing whether
// lanes are worked on at once or one after the other.
//
// One thread at a time: the owner's, and between begin() and the meeting the lane's.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "server/host_turn/arrivals.h"
#include "server/host_turn/lane_calls.h"
#include "server/host_turn/outflow.h"
#include "server/peers/members_mover.h"
#include "server/peers/peers.h"
#include "server/peers/readmission.h"
#include "server/platform/device_choice.h"
#include "server/platform/device_metrics.h"
#include "server/replicas/checkpoint_marks.h"
#include "server/replicas/clock.h"
#include "server/replicas/failure_latch.h"
#include "server/replicas/metrics.h"
#include "server/replicas/options.h"
#include "server/replicas/replica_rows.h"
#include "server/replicas/snapshot_sender.h"
#include "server/replicas/turn_record.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace gcoord::server {

class TurnLane {
 public:
  // What all lanes of a node share; all outlive them.
  struct Environment {
    const ReplicaOptions& options;
    StateMachine& service;
    std::mutex& reading;  // LaneCalls.
    const ReplicaClock& clock;
    MetricsRegistry& registry;
    ReplicaMetrics& metrics;
    DeviceMetrics* device_metrics;  // nullptr on the CPU.
    std::uint32_t lane_count;       // Of the node; they share its bounds.
  };

  TurnLane(const Environment& environment, ChosenStepper stepper, const consensus::RowMap& row_map);
  ~TurnLane();
  TurnLane(const TurnLane&) = delete;
  TurnLane& operator=(const TurnLane&) = delete;

  // What the rows need besides, once it is open; all outlive the lane.
  struct Connections {
    CheckpointMarks& marks;
    const ReplicaPeers& peers;
    SnapshotSender& sender;
    netcore::PeerNetwork& network;
  };

  void connect(const Connections& connections);

  // What a turn gives to the lane. What the channels take is divided among the lanes; takes_rest:
  // this one gets what is left over. Without `steps` rows hear what became durable and nothing
  // else.
  struct Turn {
    const TurnState& state;
    const consensus::StepInput& input;
    ledger::Lsn durable;
    const netcore::PeerNetwork& network;
    bool takes_rest = false;
    bool steps = true;
  };

  void begin(const Turn& turn);

  // Rows, or things that they are to be told, that wait for work(): about so many.
  std::size_t waiting_count(Tick now, ledger::Lsn durable) const;

  // Settles and steps the rows of the turn.
  void work();

  // Whether a step is to come that reads the service's state: of a snapshot that was installed and
  // is not in the log of record yet.
  bool owes_snapshot() const;

  // Whether a channel that took nothing of this lane takes something of every lane now.
  bool credit_returned(const netcore::PeerNetwork& network) const;

  // After the lanes have met.
  void send_snapshots();
  void apply();
  void end_turn();

  std::uint32_t leader_count() const;

  std::size_t row_count() const { return stepped_; }

  std::size_t done() const { return turn_.done; }

  const FailureLatch& failure() const { return failure_; }

  void shrink();

  LaneCalls calls;
  ReplicaRows rows;
  ReplicaOutflow outflow;
  Readmission readmission;
  MembersMover members;
  TurnRecord record;
  Arrivals arrivals;  // Without room where nothing is settled.

 private:
  struct Workers;

  void look_at_credit();
  std::uint64_t step_limit_us() const;

  // Since work() began.
  std::uint64_t took_us() const { return env_.clock.peek_us() - begin_us_; }

  void settle();
  void step_rows();
  Status step_batch();

  Environment env_;
  FailureLatch failure_;
  TurnState turn_;
  consensus::StepInput input_;
  ledger::Lsn durable_;
  std::vector<consensus::PeerLiveness> peers_;  // With what their channels take from this lane.
  std::vector<std::uint32_t> credits_;          // What they take at most in this turn.
  bool steps_ = true;
  std::size_t stepped_ = 0;
  std::uint64_t begin_us_ = 0;  // Of work().
  std::unique_ptr<Workers> workers_;
};

}  // namespace gcoord::server
