// The lock service of a node: between the clients' requests and the replicated lock tables.
//
//   request -> check -> command -> propose ... apply -> reply
//   read    -> engine.read ... linearizable now -> look up -> reply
//
// The leader of a shard answers; any other node names the leader it knows. Commands are executed
// exactly once by (session, sequence) inside the log, so whatever happens to a request, repeating
// it is safe. An acquire that waits is answered when the log grants it; a retry binds the wait to
// its new connection, without an entry of its own where the queue has it (docs/adr/0059).
// Keep-alives never enter the log: they renew all registrations of this node. Sessions that ran out
// are ended through the log (session_expiry.h).
//
// Every request that was taken is answered exactly once through the sink. Bounds: kPendingMax
// outstanding commands, the caps of LockLimits, and what the front end allows per connection.
// One thread, the node's loop.
#pragma once

#include "common/metrics.h"
#include "locks/lock_cpu.h"
#include "rpc/hello.h"
#include "rpc/validate.h"
#include "server/apply_tap.h"
#include "server/closed_sessions.h"
#include "server/coordinator_driver.h"
#include "server/deadlock_watch.h"
#include "server/device_sweeps.h"
#include "server/election_asks.h"
#include "server/lock_moves.h"
#include "server/lock_reads.h"
#include "server/lock_replies.h"
#include "server/lock_service_metrics.h"
#include "server/log_record.h"
#include "server/node_features.h"
#include "server/node_reports.h"
#include "server/pending_table.h"
#include "server/replica_ages.h"
#include "server/replica_port.h"
#include "server/replica_reads.h"
#include "server/reply_sink.h"
#include "server/service.h"
#include "server/session_expiry.h"
#include "server/session_quota.h"
#include "server/session_views.h"
#include "server/wait_table.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace gcoord::server {

// Commands that may be outstanding at once: at 64 bytes of command and 200 of bookkeeping this is
// some 70 MB, and two seconds of work at 100,000 commands a second.
inline constexpr std::size_t kPendingMax = std::size_t{1} << 18;

struct LockServiceOptions {
  NodeId node;
  std::vector<NodeId> nodes;  // All of the cluster, this one too.
  std::uint32_t tick_ms = 10;
  std::uint64_t election_ticks = 100;
  rpc::RequestLimits limits;            // Of requests; shard_count is the cluster's.
  locks::LockLimits caps;               // Of the tables.
  std::uint32_t session_locks_max = 0;  // See session_quota.h; 0: no limit.
  std::uint64_t index_seed = 0;
  // Unix milliseconds, for the records in the log; empty: they say no time.
  std::function<std::uint64_t()> wall_ms;
  std::uint32_t deadlock_interval_ms = 1000;  // 0: deadlocks are not looked for.
  CoordinatorMethod coordinator = CoordinatorMethod::Raft;
};

class LockService final : public Service {
 public:
  LockService(const LockServiceOptions& options, ReplySink& replies, MetricsRegistry& metrics);

  // Before the first turn, when the engine is open: which engine, and which life of the node.
  void start(ReplicaPort& engine, Incarnation incarnation, const NodeReports& reports);

  // A checked frame's request of a client that was welcomed. Answered now or later.
  void on_request(ConnectionId connection,
                  const rpc::RequestSlot& request,
                  std::span<const std::byte> payload);

  // Tells the time, in microseconds that only grow and count suspended time. Called whenever the
  // loop woke up, before anything else: a keep-alive must never be taken for an older one.
  void set_time(std::uint64_t now_us);

  // Once per pass, after input was read and before the engine's turn: waits whose time ran out and
  // sessions that expired become proposals.
  void on_tick();

  // How long the loop may sleep for the sake of on_tick; kNeverMs when nothing is timed.
  static constexpr std::uint64_t kNeverMs = ~std::uint64_t{0};
  std::uint64_t until_next_deadline_ms() const;

  // server/service.h
  void apply(const AppliedEntry& entry) override;
  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;
  void on_read(std::uint64_t cookie, const Status& status, NodeId leader_hint) override;
  void on_role(ShardId shard, consensus::Role role, Term term, NodeId leader) override;
  void serialize(ShardId shard, std::vector<std::byte>& bytes) override;
  Status install(ShardId shard, std::span<const std::byte> bytes) override;
  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override;
  std::uint64_t state_hash(ShardId shard) const override;
  void on_loop_gap(std::uint64_t ticks) override;
  void on_peer_message(NodeId from, std::span<const std::byte> message) override;

  bool behind() const override { return expiry_.behind(); }

  // Gives what is large to a device, if there is one (device_sweeps.h).
  Status start_sweeps(Result<std::unique_ptr<sessions::SweepDevice>> opened,
                      DeviceSweepsOptions options) {
    return sweeps_.start(std::move(opened), std::move(options));
  }

  DeviceSweeps::Report sweeps() const { return sweeps_.report(); }

  // Not OK: that device failed. To be asked after on_tick(): nothing of the pass may leave then.
  const Status& device_failure() const { return sweeps_.failure(); }

  // Whom to tell where the clients of another node connect.
  void set_address_sink(std::function<void(NodeId, std::string_view)> sink) {
    address_sink_ = std::move(sink);
  }

  // Whom to give what another node says of its device (device_links.h).
  void set_device_facts_sink(std::function<void(NodeId, std::span<const std::byte>)> sink) {
    device_facts_sink_ = std::move(sink);
  }

  // Who looks on (apply_tap.h); it outlives the engine's calls.
  void set_tap(ApplyTap* tap) { tap_ = tap; }

  // Has the quorum confirm that this node leads the shard, whatever its clock says. The sink is
  // told once, in a later turn, as Service::on_read is.
  void confirm_read(ShardId shard, std::uint64_t number) {
    confirm(shard, PendingKind::PastRead, number, ReadWay::Round);
  }

  using ConfirmedSink =
      std::function<void(std::uint64_t number, const Status& status, NodeId leader_hint)>;

  void set_confirmed_sink(ConfirmedSink sink) { confirmed_sink_ = std::move(sink); }

  const locks::LockCpu& locks() const { return locks_; }

  std::size_t pending_count() const { return pending_.size(); }

  std::size_t wait_count() const { return waits_.size(); }

  DeadlockWatch::Counts deadlock_counts() const { return deadlocks_.counts(); }

  // Who coordinates: elected, or with raft who leads shard 0.
  CoordinatorView coordinator() const;

  void set_coordinator_sink(std::function<void(NodeId)> sink) {
    office_.set_change_sink(std::move(sink));
  }

  std::size_t read_bytes() const { return reads_.held_bytes(); }

 private:
  // A CloseSession over several shards; answered when the last one is done.
  struct CloseGroup {
    ConnectionId connection;
    rpc::RequestSlot request;
    std::size_t outstanding = 0;
    rpc::ErrorCode worst = rpc::ErrorCode::None;
    NodeId leader_hint;
  };

  void send(ConnectionId connection,
            const rpc::ReplySlot& reply,
            std::span<const std::byte> payload = {});
  void send_error(ConnectionId connection, const rpc::RequestSlot& request, rpc::ErrorCode error);

  // Requests, by kind.
  void dispatch(ConnectionId connection,
                const rpc::RequestSlot& request,
                std::span<const std::byte> payload);
  void on_acquire(ConnectionId connection, const rpc::RequestSlot& request, std::string_view name);
  void on_proclaim(ConnectionId connection,
                   const rpc::RequestSlot& request,
                   std::span<const std::byte> payload);
  void on_transfer(ConnectionId connection,
                   const rpc::RequestSlot& request,
                   std::span<const std::byte> payload);
  void submit_office(ConnectionId connection,
                     const rpc::RequestSlot& request,
                     const locks::LockCommand& command);
  void on_election_ask(ConnectionId connection,
                       const rpc::RequestSlot& request,
                       std::span<const std::byte> payload);
  void on_acquire_hold(ConnectionId connection,
                       const rpc::RequestSlot& request,
                       std::span<const std::byte> payload);
  void on_release(ConnectionId connection, const rpc::RequestSlot& request, std::string_view name);
  void on_cancel(ConnectionId connection, const rpc::RequestSlot& request, std::string_view name);
  bool admitted() const;
  void on_open_session(ConnectionId connection, const rpc::RequestSlot& request);
  void on_keep_alive(ConnectionId connection,
                     const rpc::RequestSlot& request,
                     std::span<const std::byte> payload);
  sessions::RenewOutcome renew(SessionId session);
  void on_break(ConnectionId connection,
                const rpc::RequestSlot& request,
                std::span<const std::byte> payload);
  void on_losses(ConnectionId connection, const rpc::RequestSlot& request);
  void on_close_session(ConnectionId connection, const rpc::RequestSlot& request);
  void on_shard_range(ConnectionId connection,
                      const rpc::RequestSlot& request,
                      std::span<const std::byte> payload);
  void finish_close(std::uint64_t group, rpc::ErrorCode error, NodeId leader_hint);

  // Reads of replicas, and what they need (lock_service_reads.cc).
  LockReads::Doors read_doors();
  ReplicaAges make_ages(MetricsRegistry& metrics);
  ReplicaReads make_replica_reads();
  void confirm(ShardId shard, PendingKind kind, std::uint64_t group, ReadWay way);
  void on_read_of_replicas(const Pending& pending, const Status& status, NodeId leader_hint);
  LogIndex applied_at(ShardId shard) const;

  // Sessions as leases (lock_service_sessions.cc).
  void on_session_grant(ConnectionId connection, const rpc::RequestSlot& request);
  void on_session_show(ConnectionId connection, const rpc::RequestSlot& request);
  void finish_session_show(const Pending& pending, const Status& status, NodeId leader_hint);
  void on_session_list(ConnectionId connection,
                       const rpc::RequestSlot& request,
                       std::span<const std::byte> payload);

  // Moved locks (lock_service_moves.cc). The shard where the request says that its lock is.
  ShardId place_of(const rpc::RequestSlot& request, NameHash name) const;
  bool not_come_yet(const rpc::RequestSlot& request, ShardId shard, NameHash name) const;
  void on_move(ConnectionId connection,
               const rpc::RequestSlot& request,
               std::span<const std::byte> payload);
  LockMoves::Doors move_doors();

  // Proposes the command of a client for the shard of its name, or refuses it at once.
  void submit(ConnectionId connection,
              const rpc::RequestSlot& request,
              ShardId shard,
              const locks::LockCommand& command);
  void propose(ShardId shard, const locks::LockCommand& command, const Pending& pending);
  RecordHeader record_header(const Pending& pending) const;

  // Outcomes.
  locks::LockReply apply_tapped(const AppliedEntry& entry, locks::LockEvents& events);
  void note_closed(std::span<const std::byte> bytes);
  void apply_command(const AppliedEntry& entry);
  void answer(const Pending& pending, const AppliedEntry& entry, const locks::LockReply& decision);
  void answer_request(const Pending& pending,
                      const AppliedEntry& entry,
                      const locks::LockReply& decision);
  void answer_events(const AppliedEntry& entry, const locks::LockEvents& events);
  void bind_wait(const Pending& pending, ShardId shard);
  void end_wait(const Wait& wait, const rpc::ReplySlot& reply, std::string_view why = {});
  void end_waits(ShardId shard, NodeId leader);
  void end_overdue_waits();
  DeadlockWatch::Doors deadlock_doors();
  CoordinatorDriver::Environment office_doors();
  SessionExpiry::Doors expiry_doors();
  void propose_ends(ShardId shard,
                    std::span<const sessions::ExpiryProposal> ends,
                    std::uint64_t number);
  void end_due_delays();
  std::uint32_t ttl_left_ms(ShardId shard, SessionId session) const;
  bool leads(ShardId shard) const;
  void set_leads(ShardId shard, bool leading);

  LockServiceOptions options_;
  ReplySink& replies_;
  LockServiceMetrics metrics_;
  ReplicaPort* engine_ = nullptr;
  const NodeReports* reports_ = nullptr;
  // This service's own ticks: like the engine's in length, counted from another start.
  Tick now_{1};
  Tick ticked_{0};
  std::uint64_t now_us_ = 0;
  std::unordered_set<std::uint64_t> renewed_;  // In the tick renewed_at_; see renew().
  Tick renewed_at_;
  std::uint64_t session_prefix_ = 0;
  std::uint64_t session_count_ = 0;
  locks::LockCpu locks_;
  PendingTable pending_;
  WaitTable waits_;
  ElectionAsks election_asks_;
  LockReads reads_;
  ReplicaAges ages_;
  ReplicaReads replica_reads_;
  SessionViews session_views_;
  SessionQuota quota_;
  NodeFeatures node_features_;
  DeviceSweeps sweeps_;
  SessionExpiry expiry_;
  CoordinatorDriver office_;
  DeadlockWatch deadlocks_;
  LockMoves moves_;
  std::unordered_map<std::uint64_t, CloseGroup> closes_;
  ClosedSessions closed_;
  std::uint64_t close_last_ = 0;
  std::vector<std::uint64_t> led_;  // A bit per shard.
  // Of each shard the log index that its state shows; 0: as the engine says. Pages of shards that
  // never had an entry in this life cost nothing.
  MappedColumn<std::uint64_t> applied_;
  std::vector<std::byte> command_;  // Scratch for encoding.
  std::vector<locks::LockEvent> events_;
  ApplyTap* tap_ = nullptr;
  std::vector<locks::DelayedLock> delays_;  // Scratch.
  std::function<void(NodeId, std::string_view)> address_sink_;
  std::function<void(NodeId, std::span<const std::byte>)> device_facts_sink_;
  ConfirmedSink confirmed_sink_;
};

}  // namespace gcoord::server
