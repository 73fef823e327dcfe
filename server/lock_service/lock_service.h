// The lock service of a node: between the clients' requests and the replicated lock tables.
//
//   request -> table (request_table.h) -> owner -> command -> propose ... apply -> outcome -> reply
//   read    -> owner -> confirmation ... linearizable now -> look up -> reply
//
// This class composes the parts and passes the engine's calls and the time on to them. The leader
// of a shard answers; any other node names the leader it knows. Commands are executed exactly once
// by (session, sequence) inside the log, so whatever happens to a request, repeating it is safe. An
// acquire that waits is answered when the log grants it; a retry binds the wait to its new
// connection, without an entry of its own where the queue has it (docs/adr/0059). Keep-alives never
// enter the log: they renew all registrations of this node. Sessions that ran out are ended through
// the log (session_expiry.h).
//
// Every request that was taken is answered exactly once through the sink. Bounds: kPendingMax
// outstanding commands, the caps of LockLimits, and what the front end allows per connection.
// One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "locks/cpu/lock_cpu.h"
#include "server/interfaces/apply_observer.h"
#include "server/interfaces/replicated_log.h"
#include "server/interfaces/state_machine.h"
#include "server/lock_service/base.h"
#include "server/lock_service/command_submitter.h"
#include "server/lock_service/holder_requests.h"
#include "server/lock_service/lock_requests.h"
#include "server/lock_service/messages.h"
#include "server/lock_service/node_requests.h"
#include "server/lock_service/outcomes.h"
#include "server/lock_service/pending_commands.h"
#include "server/lock_service/pending_reads.h"
#include "server/lock_service/session_requests.h"
#include "server/lock_service/state_machine.h"
#include "server/lock_service/tasks.h"
#include "server/reads/read_requests.h"
#include "server/rendezvous/requests.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

// Commands that may be outstanding at once: at 64 bytes of command and 200 of bookkeeping this is
// some 70 MB, and two seconds of work at 100,000 commands a second.
inline constexpr std::size_t kPendingMax = std::size_t{1} << 18;

// The owners of the service's request kinds; see request_table.h.
struct LockServiceHandlers {
  LockRequests locks;
  HolderRequests holders;
  SessionRequests sessions;
  ReadRequests reads;
  NodeRequests node;
  GroupRequests groups;
  RendezvousRequests rendezvous;
};

// Where the node wants to hear of what the service learns; each may be empty.
struct LockServiceSinks {
  ServiceMessages::AddressSink address;
  ServiceMessages::DeviceFactsSink device_facts;
  std::function<void(NodeId)> coordinator;  // A new one, once for each; never "none".
  PendingReads::PastSink past;              // The end of confirm_read().
  NodeWords words;                          // What nodes say of themselves to each other.
};

class LockService final : public StateMachine {
 public:
  LockService(const LockServiceOptions& options,
              protocol::ReplySink& replies,
              MetricsRegistry& metrics);
  LockService(const LockService&) = delete;
  LockService& operator=(const LockService&) = delete;

  // Before the first turn, when the engine is open: which engine, and which life of the node.
  void start(ReplicatedLog& engine, Incarnation incarnation, const NodeReports& reports);

  // Who is in the cluster, by a view that this node has; until the first call the nodes of the
  // options are. Not from within the engine's calls for entries of locks. An earlier epoch than
  // before changes nothing.
  void set_members(const ClusterMembers& members);

  // Counts a request and checks its fields and the bound of outstanding commands. False: it was
  // refused; else exactly one of the handlers gets it next.
  bool admit(const ClientRequest& request);

  // A request that nobody here serves.
  void refuse_kind(const ClientRequest& request);

  LockServiceHandlers& handlers() { return handlers_; }

  // Tells the time, in microseconds that only grow and count suspended time. Called whenever the
  // loop woke up, before anything else: a keep-alive must never be taken for an older one.
  void set_time(std::uint64_t now_us) { base_.clock.set(now_us); }

  // The time that was told last.
  std::uint64_t now_us() const { return base_.clock.now_us; }

  // Late requests, of whoever keeps some for a while.
  SlowRequests& slow_requests() { return base_.slow; }

  // Once per pass, after input was read and before the engine's turn: waits whose time ran out and
  // sessions that expired become proposals.
  void on_tick();

  // How long the loop may sleep for the sake of on_tick; 0 while work of a storm waits, kNeverMs
  // when nothing is timed.
  static constexpr std::uint64_t kNeverMs = ~std::uint64_t{0};
  std::uint64_t until_next_deadline_ms() const;

  // server/interfaces/state_machine.h
  void apply(const AppliedEntry& entry) override;
  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;
  void on_read(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;
  void on_role(ShardId shard, consensus::Role role, Term term, NodeId leader) override;
  void serialize(ShardId shard, std::vector<std::byte>& bytes) override;
  Status install(ShardId shard, std::span<const std::byte> bytes) override;
  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override;
  std::uint64_t state_hash(ShardId shard) const override;
  // Groups are on no device: of the locks alone, both.
  void state(ShardId shard, std::vector<std::byte>& bytes) override;

  std::uint64_t device_hash(ShardId shard) const override { return base_.locks.state_hash(shard); }

  void on_loop_gap(std::uint64_t ticks) override { tasks_.on_loop_gap(ticks); }

  void on_peer_message(NodeId from, std::span<const std::byte> message) override;

  bool behind() const override { return tasks_.expiry.behind(); }

  // What the service gives to a device, if there is one. Its failure() is to be asked after
  // on_tick(): nothing of the pass may leave then.
  DeviceSweeps& sweeps() { return tasks_.sweeps; }

  // Has the quorum confirm that this node leads the shard, whatever its clock says. The sink for
  // the past is told once, in a later turn, as Service::on_read is.
  void confirm_read(ShardId shard, std::uint64_t number) {
    base_.log.confirm(shard, PendingKind::PastRead, number, ReadMode::Round);
  }

  // Before the first turn.
  void set_sinks(LockServiceSinks sinks);

  // Observes what is applied (apply_tap.h); it outlives the engine's calls.
  void set_tap(ApplyObserver* tap);

  // Judges the requests that wait, whenever rights change; it outlives the calls of the engine and
  // of on_tick(). Before the first turn.
  void set_wait_judge(WaitJudge* judge);

  const locks::LockCpu& locks() const { return base_.locks; }

  // For threads that apply entries to a part of them before the engine gives them here
  // (AppliedEntry::outcome).
  locks::LockCpu& locks() { return base_.locks; }

  // Of the pass, for whoever has work that comes in storms; on_tick() begins it anew.
  PassBudget& budget() { return base_.budget; }

  std::size_t pending_count() const { return base_.pending.size(); }

  std::size_t wait_count() const { return base_.waits.size(); }

  const GroupMachine& group_machine() const { return groups_; }

  DeadlockWatch::Counts deadlock_counts() const { return tasks_.deadlocks.counts(); }

  // Whether another node may be given leaderships: its disk is not low, and it does not drain.
  bool takes_leaders(NodeId node) const {
    return !tasks_.features.disk_is_low(node) && !tasks_.features.drains(node);
  }

  // Whether all nodes of the cluster have said that they have it.
  bool all_have(protocol::Feature feature) const { return tasks_.features.all_have(feature); }

  // Whether another node has it.
  bool has(NodeId node, protocol::Feature feature) const {
    return tasks_.features.has(node, feature);
  }

  // The elected coordinator, or with raft the leader of shard 0.
  CoordinatorView coordinator() const;

 private:
  GroupEnvironment group_environment(std::function<protocol::ErrorCode()> unready);
  protocol::ErrorCode unready(bool used,
                              protocol::Feature feature,
                              protocol::ErrorCode error) const;
  LockServiceHandlers make_handlers(MetricsRegistry& metrics);

  LockServiceOptions options_;
  LockServiceBase base_;
  GroupMachine groups_;
  CommandSubmitter submitter_;
  ServiceTasks tasks_;
  LockServiceHandlers handlers_;  // Hold references to parts of the tasks.
  Outcomes outcomes_;
  PendingCommands pending_commands_;
  PendingReads pending_reads_;
  LockStateMachine machine_;
  ServiceMessages messages_;
  Tick ticked_{0};
};

}  // namespace gcoord::server
