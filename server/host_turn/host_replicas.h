// The replicated logs of a node's shards, kept by a turn on the host: all replicas, their storage
// and their messages, in one loop.
//
// A turn is poll -> step -> persist -> send -> apply (docs/internals/architecture.md). It takes
// whatever is queued, never blocks and never waits to fill a batch. All shards' writes of a turn
// are one record of the log of record; all messages of a turn to one peer are one send. Disk writes
// run on two threads inside (ledger/wal/writer.h, ledger/checkpoint/checkpointer.h), seen here only
// as eventfds.
//
// One turn, in this order (turn.cc):
//   poll     network -> rows' inboxes; heartbeats wait for the clock
//   time     the tick, then liveness
//   lanes    each for its rows, at once where that pays (lane.h): acknowledgements of storage, due
//            rows, bulk wakes; active rows in batches: fill inboxes, step, drain outboxes;
//            on a device, a scan of rows that rest
//   persist  one record of all shards; send: one send per peer
//   apply    decided entries to the service; their acknowledgement is input of the next turn
//
// Requests that came in before turn() are served in it, under a clock read after they came: so a
// read that a lease answers was asked before the lease was looked at.
//
// Everything is for one thread, the one that calls turn(): turn threads work inside of it only.
// Host only; no exceptions.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "server/host_turn/inflow.h"
#include "server/host_turn/lanes.h"
#include "server/interfaces/errors.h"
#include "server/interfaces/replicated_log.h"
#include "server/interfaces/state_machine.h"
#include "server/peers/admission.h"
#include "server/peers/directory_claim.h"
#include "server/peers/peer_list.h"
#include "server/peers/peers.h"
#include "server/peers/vote_gate.h"
#include "server/replicas/checkpointing.h"
#include "server/replicas/clock.h"
#include "server/replicas/disk.h"
#include "server/replicas/failure_latch.h"
#include "server/replicas/metrics.h"
#include "server/replicas/options.h"
#include "server/replicas/snapshot_sender.h"
#include "server/turn_lines/snapshot_counts.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

class HostReplicas final : public ReplicatedLog {
 public:
  // Locks and reads the data directory, installs checkpoints into the service, replays the log of
  // record and listens for peers. Failures carry a message for the operator: the ledger's (a
  // directory in use, of another node, or rotten: such a node must not vote), the network's, or
  // kEngineOptions and its neighbours (engine_errors.h). service and metrics outlive the engine.
  static Result<std::unique_ptr<HostReplicas>> open(ReplicaOptions options,
                                                    StateMachine& service,
                                                    MetricsRegistry& metrics);

  // Persists what was submitted and joins the threads. Nothing is told to the service any more.
  ~HostReplicas() override;
  HostReplicas(const HostReplicas&) = delete;
  HostReplicas& operator=(const HostReplicas&) = delete;

  // ReplicatedLog.
  void propose(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie) override;
  void read(ShardId shard, std::uint64_t cookie) override;
  void read_by_round(ShardId shard, std::uint64_t cookie) override;
  ShardView view(ShardId shard) const override;
  NodeView view() const override;
  bool send_peer_message(NodeId to, std::span<const std::byte> message) override;

  std::size_t turn() override;

  Status failure() const override { return failure_.status(); }

  bool arm() override;
  std::vector<int> event_fds() const override;
  std::chrono::milliseconds until_next_deadline() const override;
  bool shrink() override;
  void note_gap() override;

  Incarnation incarnation() const override { return disk_->identity().incarnation(); }

  std::uint16_t listen_port() const override { return network_->listen_port(); }

  void transfer(ShardId shard, NodeId to) override;

  // May be called from within a turn, by the service, too: the next turn begins with it. A view
  // that is older than the one so far is left. If this node has left by the view, the engine fails
  // with kNodeRemoved.
  void set_members(const ClusterMembers& members) override;
  void meet(NodeId node, const std::string& address) override;

  MembersProgress members_progress() const override { return lanes_->members_progress(); }

  const ledger::CheckpointStore* checkpoints() const override { return &disk_->checkpoints(); }

  std::uint64_t request_checkpoint() override { return checkpointing_->request(); }

  std::optional<Status> checkpoint_outcome(std::uint64_t number) const override {
    return checkpointing_->outcome(number);
  }

  // The tick of the last turn.
  Tick now() const { return clock_.tick(); }

  // With ledger::StorageDriver::Owner: does what the disk threads would do next. False: nothing to
  // do. storage_queued tells whether a write waits (the seal of an idle log does not count).
  bool advance_storage() { return disk_->advance(); }

  bool storage_queued() const { return disk_->queued(); }

 private:
  HostReplicas(ReplicaOptions options, StateMachine& service, MetricsRegistry& registry);

  // open.cc
  Status open_storage(MetricsRegistry& registry);
  Status open_network(MetricsRegistry& registry);
  netcore::PeerNetworkOptions network_options(MetricsRegistry& registry);
  ReplicaInflow::ChannelEvents channel_events();

  void follow_members();

  // turn.cc
  void take_time();
  bool take_heartbeats();
  void look_at_lives();
  void work();
  void send_all();
  void take_checkpoint_end();
  void on_refused(NodeId peer, const netcore::Refusal& refusal);
  void fail_unless(const Status& status);
  consensus::StepInput step_input() const;

  // Whether a row's lease is valid at the present moment, which may be long after the last turn.
  bool holds_lease(const consensus::ShardRef& row) const;

  ReplicaOptions options_;
  StateMachine& service_;
  ReplicaMetrics metrics_;
  ReplicaClock clock_;
  SnapshotSender sender_;
  std::unique_ptr<ReplicaDisk> disk_;
  std::unique_ptr<PeerAdmission> admission_;
  std::unique_ptr<DirectoryClaim> claim_;
  std::unique_ptr<VoteGate> votes_;
  std::unique_ptr<ReplicaPeers> peers_;
  std::unique_ptr<TurnLanes> lanes_;
  std::unique_ptr<ReplicaInflow> inflow_;
  std::unique_ptr<netcore::PeerNetwork> network_;
  std::unique_ptr<Checkpointing> checkpointing_;
  SnapshotCounts snapshots_;
  FailureLatch failure_;
  TurnState turn_;
  PeerList members_;
  std::optional<ClusterMembers> members_next_;  // To be followed at the next turn.
};

}  // namespace gcoord::server
