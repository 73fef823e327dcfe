// The stable storage of a resident node: what its rows ask for becomes one record of the log of
// record per pass and one fdatasync, and what the host applied goes into checkpoints.
//
// Follows what the node tells (device_turn_store.h) and keeps, per shard, a row and the entries
// that are not applied yet as they were handed to storage: that is what a checkpoint holds beside
// the host's state, so the same code writes it as for the host's turn (checkpointing.h,
// recovery.h), under the same rules of recovery. A value may hold what the record under way says:
// replaying that record over it changes nothing, and losing it loses what nobody was told.
//
// Configurations are stored as the host's turn stores them, so that recovery knows them.
//
// A snapshot is stored once the host has the shard's state, which comes from another host
// (resident_states.h), as of its index or later; what is behind it waits with it.
//
// Failures are final, as the log's: the engine stops. One thread; the writers inside show only as
// eventfds.
#pragma once

#include "common/host/metrics.h"
#include "common/tables/column_arena.h"
#include "server/replicas/checkpointing.h"
#include "server/replicas/disk.h"
#include "server/replicas/options.h"
#include "server/replicas/turn_record.h"
#include "server/resident/engine/rows.h"
#include "server/resident/node/node.h"
#include "server/resident/saves/checkpointed_log.h"
#include "server/resident/trace/sightings.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

// A host's copy of the rows as storage keeps it: state, index and pieces (ResidentRows::encode).
class StoredStateMachine final : public StateMachine {
 public:
  explicit StoredStateMachine(ResidentRows& rows) : rows_(rows) {}

  void apply(const AppliedEntry& entry) override;

  void on_proposal_failed(std::uint64_t, const Status&, NodeId) override {}

  void on_read(std::uint64_t, const Status&, NodeId) override {}

  void on_role(ShardId, consensus::Role, Term, NodeId) override {}

  void serialize(ShardId shard, std::vector<std::byte>& bytes) override {
    rows_.encode(shard, StoredFor::Snapshot, bytes);
  }

  void checkpoint(ShardId shard, std::vector<std::byte>& bytes) override {
    rows_.encode(shard, StoredFor::Checkpoint, bytes);
  }

  Status install(ShardId shard, std::span<const std::byte> bytes) override {
    return rows_.decode(shard, bytes);
  }

  bool plausible(ShardId, std::span<const std::byte> bytes) const override {
    return ResidentRows::well_formed(bytes);
  }

  std::uint64_t state_hash(ShardId) const override { return 0; }

  void on_loop_gap(std::uint64_t) override {}

 private:
  ResidentRows& rows_;
};

class ResidentStorage final : public CheckpointSource {
 public:
  // Opens the directory and recovers rows and state into `rows`. All references outlive it.
  static Result<std::unique_ptr<ResidentStorage>> open(const ReplicaOptions& options,
                                                       ResidentRows& rows,
                                                       ResidentRequests& requests,
                                                       StateMachine& service,
                                                       MetricsRegistry& metrics);

  // For ResidentNode::restore, once: rows, log pages and lock tables as recovered. Rows whose state
  // finds no room in the tables are the host's alone. DataLoss: a log page cannot hold a row.
  Status fill(const ResidentView& view);

  ledger::IdentityFile& identity() { return disk_->identity(); }

  std::uint64_t durable_lsn() const { return disk_->durable_lsn().value; }

  // Whether this directory was ever part of a cluster: its rows may have promised something.
  bool has_promised() const { return has_promised_; }

  // The time of what is taken next.
  void set_time(Tick now) { now_ = now; }

  // For how many ticks the disk has owed the oldest acknowledgement.
  std::uint64_t waits_since(Tick now) const {
    return record_.waits_since(now, disk_->durable_lsn());
  }

  // A Store that the node told. Internal: it cannot be.
  Status take(const HostEventSlot& told);
  // The host was told this decided entry, after all that was stored before.
  Status on_told(const HostEventSlot& told);

  // Rows whose requests are durable are told so, and sightings of the votes in them; a failure of
  // the disk.
  Result<std::size_t> take_acks(TurnSightings* sightings = nullptr);
  // Ends the pass: its record goes to the disk.
  void submit();

  // A bounded part of a checkpoint's work. What a finished one says, once.
  std::size_t checkpoint(std::uint64_t now_ms) { return checkpointing_->advance(now_ms, {}); }

  const ledger::CheckpointStore& checkpoint_store() const override { return disk_->checkpoints(); }

  std::uint64_t request_checkpoint() override { return checkpointing_->request(); }

  std::optional<Status> checkpoint_outcome(std::uint64_t number) const override {
    return checkpointing_->outcome(number);
  }

  // Whether that may read states of rows.
  bool reads_states() const { return checkpointing_->under_way(); }

  // That ended well in this life.
  std::uint64_t checkpoint_count() const { return metrics_.checkpoints.value(); }

  std::optional<Status> take_checkpoint_end() { return checkpointing_->take_end(); }

  std::vector<int> event_fds() const { return disk_->event_fds(); }

  // As ReplicaDisk::rearm.
  bool rearm() {
    const bool came = disk_->rearm();
    return came || record_.due(disk_->durable_lsn()) || checkpointing_->busy();
  }

  // For a disk whose writers its owner drives (ReplicaOptions::storage_driver).
  bool advance() { return disk_->advance(); }

 private:
  ResidentStorage(const ReplicaOptions& options,
                  ResidentRows& rows,
                  ResidentRequests& requests,
                  StateMachine& service,
                  MetricsRegistry& metrics);

  consensus::ShardRef ref(ShardId shard) const { return {columns_, map_.row_of(shard)}; }

  CheckpointMarks& marks() { return checkpointing_->marks(0); }

  bool awaits_state(const TurnReply& head) const;
  void store_snapshot(const HostEventSlot& told);
  void store_entry(ShardId shard, LogIndex index, Term term, const locks::LockEntry& entry);
  Status store_entries(const HostEventSlot& told);
  void store_names(const TurnReply& head);
  Status fill_row(const ResidentView& view, ShardId shard);
  bool name_by_numbers(consensus::ShardRef row) const;
  bool fill_locks(const ResidentView& view, ShardId shard);
  void forget_applied(ShardId shard);

  ResidentRows& rows_;
  ResidentRequests& requests_;
  StateMachine& service_;
  StoredStateMachine stored_;
  consensus::RowMap map_;  // All slices, as on the device: its rows have the same numbers.
  ColumnArena arena_;
  consensus::ShardColumns columns_;
  EntryPool pool_;
  EntryLog log_;
  ActiveRows active_;
  ReplicaMetrics metrics_;
  std::unique_ptr<ReplicaDisk> disk_;
  TurnRecord record_;
  std::unique_ptr<Checkpointing> checkpointing_;
  std::unordered_map<std::uint32_t, HostEventSlot>
      waiting_;  // Snapshots without a state, by shard.
  bool has_promised_ = false;
  Tick now_;
  std::vector<std::byte> bytes_;  // Kept warm.
};

}  // namespace gcoord::server
