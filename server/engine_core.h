// The replica engine behind its public face: the parts, and the turn that drives them.
//
// One turn, in this order (engine_turn.cc):
//   poll     network -> rows' inboxes; heartbeats wait for the clock
//   time     the tick, then liveness, acknowledgements of storage, due rows, bulk wakes
//   step     active rows in batches: fill inboxes, step, carry out outboxes (engine_carry_out.cc);
//            on a device, a look at rows that rest
//   persist  one record of all shards; send: one send per peer
//   apply    decided entries to the service; their acknowledgement is input of the next turn
// One thread.
#pragma once

#include "consensus/stepper.h"
#include "server/checkpointing.h"
#include "server/device_choice.h"
#include "server/device_metrics.h"
#include "server/directory_claim.h"
#include "server/engine_active.h"
#include "server/engine_admission.h"
#include "server/engine_clock.h"
#include "server/engine_deadlines.h"
#include "server/engine_disk.h"
#include "server/engine_inflow.h"
#include "server/engine_metrics.h"
#include "server/engine_outflow.h"
#include "server/engine_peers.h"
#include "server/entry_log.h"
#include "server/readmission.h"
#include "server/replica_engine.h"
#include "server/snapshot_sender.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {

class ReplicaEngine::Core {
 public:
  static Result<std::unique_ptr<Core>> open(EngineOptions options,
                                            Service& service,
                                            MetricsRegistry& registry);

  void propose(ShardId shard, std::span<const std::byte> command, std::uint64_t cookie);
  void read(ShardId shard, std::uint64_t cookie, ReadWay way);
  void transfer(ShardId shard, NodeId to);
  bool send_peer_message(NodeId to, std::span<const std::byte> message);

  bool shrink();

  bool advance_storage() { return disk_->advance(); }

  bool storage_queued() const { return disk_->queued(); }

  std::uint64_t request_checkpoint() { return checkpointing_->request(); }

  std::optional<Status> checkpoint_outcome(std::uint64_t number) const {
    return checkpointing_->outcome(number);
  }

  const ledger::CheckpointStore& checkpoints() const { return disk_->checkpoints(); }

  std::size_t turn();
  bool arm();
  std::vector<int> event_fds() const;
  std::chrono::milliseconds until_next_deadline() const;

  Tick now() const { return clock_.tick(); }

  // Whether a row's lease is valid at the present moment, which may be long after the last turn.
  bool holds_lease(const consensus::ShardRef& row) const;

  const EngineOptions& options() const { return options_; }

  Incarnation incarnation() const { return disk_->identity().incarnation(); }

  std::uint16_t listen_port() const { return network_->listen_port(); }

  ShardView view(ShardId shard) const;
  NodeView view() const;

  Status failure() const { return failure_; }

 private:
  // Before a directory is established (engine_admission.h). Far, but arithmetic stays possible.
  static constexpr Tick kTickVoteNever{std::uint64_t{1} << 62};

  // What a row was before its step.
  struct Before {
    consensus::Hot hot;
    consensus::Log log;
  };

  // A row's place in the batch being stepped, beside its inbox and outbox.
  struct Place {
    Before before;
    std::array<std::uint32_t, consensus::kInboxMessages> message_number{};  // 0: the snapshot.
    std::unique_ptr<ArrivedSnapshot> snapshot;
    std::unique_ptr<consensus::Configuration> proposed;  // Of its inbox, to be kept if accepted.
  };

  struct Apply {
    std::uint32_t row = 0;
    LogIndex first;
    LogIndex last;
  };

  Core(EngineOptions options, ChosenStepper stepper, Service& service, MetricsRegistry& registry);

  // engine_open.cc
  Status open_storage(MetricsRegistry& registry);
  Status open_network(MetricsRegistry& registry);
  netcore::AgreedSettings agreed_settings() const;
  EngineInflow::ChannelEvents channel_events();

  // engine_turn.cc
  void poll();
  void take_checkpoint_end();
  void take_time();
  void take_acknowledgements();
  void sweep();
  void retry_stalled(bool tick_began);
  void step_rows();
  Status step_batch();
  void look_over_rows();
  void fill(std::size_t k);
  void fill_acknowledgements(RowWork& work, consensus::Inbox& in);
  void fill_messages(RowWork& work, Place& place, consensus::Inbox& in);
  void fill_proposed(RowWork& work, Place& place, consensus::Inbox& in);
  void send_all();
  void apply_all();
  void want_entries(std::size_t at) const;
  LogIndex apply_range(const Apply& range);
  void after_apply(std::uint32_t row, LogIndex applied);
  void on_refused(const netcore::Refusal& refusal);
  void look_at_lives();
  Tick silent_until() const;
  void establish();
  void fail(const Status& status);
  consensus::StepInput step_input() const;

  // engine_carry_out.cc
  void carry_out(std::size_t k);
  void install_snapshot(std::uint32_t row, Place& place);
  void store_entries(const consensus::Message& message,
                     const Place& place,
                     std::uint32_t k,
                     LogIndex first);
  void settle_proposals(std::uint32_t row, std::uint32_t asked, const consensus::Outbox& out);
  void store_proposed(std::uint32_t row, Place& place, const consensus::Outbox& out);
  void store_own_entry(std::uint32_t row, const consensus::Appended& own);
  void persist(std::uint32_t row, const consensus::StorageRequest& request);
  void persist_snapshot(std::uint32_t row);
  void send(std::uint32_t row, const consensus::Message& message);
  void send_snapshot(std::uint32_t row, consensus::Message message);
  void on_leadership_ended(std::uint32_t row, const Before& before);
  void announce(std::uint32_t row, const Before& before, consensus::Cause cause);

  // engine_serve.cc
  void serve_reads(RowWork& work, consensus::Inbox& in);
  void settle_read(std::uint32_t row, const consensus::Outbox& out);
  void answer_reads(const std::vector<std::uint64_t>& cookies);
  void fail_reads(std::uint32_t row, const std::vector<std::uint64_t>& cookies, const Status& why);
  void fail_proposal(std::uint32_t row, std::uint64_t cookie, consensus::ProposalVerdict verdict);

  consensus::ShardRef ref(std::uint32_t row) const { return {stepper_->columns(), row}; }

  EngineOptions options_;
  Service& service_;
  EngineMetrics metrics_;
  EngineClock clock_;
  std::unique_ptr<consensus::Stepper> stepper_;
  std::string stepper_why_;                        // Why it is this one.
  std::unique_ptr<DeviceMetrics> device_metrics_;  // nullptr on the CPU.
  EntryPool pool_;
  EntryLog log_;
  ActiveRows rows_;
  DeadlineIndex deadlines_;
  EngineOutflow outflow_;
  SnapshotSender sender_;
  Readmission readmission_;
  std::unique_ptr<EngineDisk> disk_;
  std::unique_ptr<EngineAdmission> admission_;
  std::unique_ptr<DirectoryClaim> claim_;
  std::unique_ptr<EnginePeers> peers_;
  std::unique_ptr<EngineInflow> inflow_;
  std::unique_ptr<netcore::PeerNetwork> network_;
  std::unique_ptr<Checkpointing> checkpointing_;

  Status failure_;
  std::uint64_t turn_ = 0;  // Number of the turn under way or, between turns, of the last one.
  Tick last_tick_;
  bool tick_began_ = false;  // With this turn.
  Tick vote_after_;
  bool first_life_ = false;  // No earlier life of this directory made a promise that counts.
  bool lives_end_ = false;   // As StepInput::lives_end.
  std::uint64_t read_sequence_ = 0;
  std::uint32_t leader_count_ = 0;
  std::size_t done_ = 0;         // Of this turn: turn()'s result.
  std::uint32_t sweep_row_ = 0;  // The next row of the bulk wake, and how many are left.
  std::uint32_t sweep_left_ = 0;

  std::vector<std::uint32_t> stalled_;  // Rows with something to say that found no credit.
  std::vector<std::uint32_t> batch_rows_;
  std::vector<consensus::Inbox> in_;
  std::vector<consensus::Outbox> out_;
  std::vector<Place> places_;
  std::vector<Apply> applies_;
  std::vector<std::byte> snapshot_bytes_;  // Kept warm.
};

}  // namespace gcoord::server
