// From stable storage to rows, entries and service state, before the first turn.
//
// The checkpoint store gives each shard's value as of some record of the log of record; then the
// log's records follow, and those that a shard's value already holds are skipped for that shard.
// What remains beyond the floor are entries, kept here in one flat list until `finish` puts them
// into rows and the entry log and applies what was decided. Memory while it runs: 56 bytes per
// shard and 40 per entry. Everything read passed its checksums, so what cannot be is rot: the first
// such thing is kept and fails the opening.
//
// The directory is the node's, the rows may be those of some slices. What is kept of other shards
// is looked at only as far as to know how far the log of record has to reach; it stays where it
// lies.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "consensus/step/row_map.h"
#include "consensus/step/shard_table.h"
#include "ledger/checkpoint/checkpoint_store.h"
#include "ledger/wal/visitor.h"
#include "server/interfaces/state_machine.h"
#include "server/replicas/entry_log.h"
#include "server/replicas/shard_codec.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

class Recovery final : public ledger::CheckpointVisitor,
                       public ledger::WalVisitor,
                       private HardEntryVisitor {
 public:
  // What it fills; all outlive it. The columns are those of the map's rows, which start as
  // recovered replicas of nothing.
  struct Environment {
    const consensus::RowMap& map;
    const consensus::ShardColumns& columns;
    EntryPool& pool;
    EntryLog& log;
    StateMachine& service;
    // Gives the rows more slots (consensus::Stepper::grow); empty: they have what they have.
    std::function<Status(std::uint32_t slot_count)> grow = {};
  };

  Recovery(const Environment& environment, NodeId self);

  // Memory mode, before checkpoints are visited: of what was kept, only the decided prefix that a
  // checkpoint holds is of use, and not even that where its history is gone
  // (StateMachine::continues). What was promised behind it is lost, so finish() makes every row a
  // forgetful replica (consensus/step/readmission.h).
  void forget_promises() {
    decided_only_ = true;
    forgetful_ = true;
  }

  // Durable mode: there may have been promises in a directory before this one. All that is kept
  // here counts, but every row is a forgetful replica, too.
  void doubt_promises() { forgetful_ = true; }

  // Whatever is kept counts as decided: of the last node of a cluster, when nobody else can say any
  // more what was (server/survivor/survivor.h). `state_at` says of which index a shard's state is;
  // empty: never of a later one than is known to be decided. Where it came from another host ahead
  // of that, entries of this log behind it may be an older branch, which was never decided: they do
  // not count.
  void decide_all(std::function<LogIndex(ShardId)> state_at = {}) {
    decide_all_ = true;
    state_at_ = std::move(state_at);
  }

  // What is kept of these shards is wrong, but for what was voted: they come back as forgetful
  // replicas of nothing.
  void repair(std::span<const ShardId> shards);

  // The configuration of shards that no checkpoint mentions.
  void set_initial_configuration(const consensus::Configuration& configuration);

  void on_shard(ShardId shard,
                std::span<const std::byte> hard,
                std::span<const std::byte> service) override;

  void on_record(ledger::Lsn lsn) override { lsn_ = lsn; }

  void on_hard_state(ShardId shard, Term term, NodeId vote) override;
  void on_entries(ShardId shard, LogIndex first, std::uint32_t entry_count) override;
  void on_entry(ShardId shard,
                LogIndex index,
                Term term,
                std::uint8_t kind,
                std::span<const std::byte> payload) override;
  void on_truncate(ShardId shard, LogIndex from) override;
  void on_snapshot_installed(ShardId shard,
                             LogIndex index,
                             Term term,
                             std::span<const std::byte> state) override;
  void on_commit(ShardId shard, LogIndex index) override;

  // The newest record that a shard's checkpoint already holds. A log that ends before it has lost
  // its end.
  ledger::Lsn newest_checkpoint_lsn() const { return newest_checkpoint_lsn_; }

  // How far a row's log is known to be decided, and how far it goes. After finish().
  struct Reach {
    LogIndex floor;
    LogIndex decided;
    LogIndex last;
  };

  Reach reach(std::uint32_t row) const {
    return {rows_[row].floor, min_id(rows_[row].commit, rows_[row].last), rows_[row].last};
  }

  // Fills the rows. on_replayed is called for each row that has news since its checkpoint.
  Status finish(const std::function<void(std::uint32_t row)>& on_replayed);

 private:
  struct Row {
    Term term;
    LogIndex floor;
    Term floor_term;
    LogIndex commit;
    LogIndex last;
    ledger::Lsn lsn;  // Records up to this one are in the checkpoint's value.
    NodeId vote;
    std::uint32_t newest = 0;  // 1 + place of the newest entry; 0: none.
    bool replayed = false;
    bool repaired = false;
  };

  struct Entry {
    Term term;
    LogIndex index;
    EntryBlock* block = nullptr;  // nullptr: a no-op.
    std::uint32_t older = 0;      // As Row::newest.
  };

  void on_entry(LogIndex index, Term term, const EntryView& entry) override;
  // The row that the record has news for; nullptr: nothing is to be done.
  Row* takes(ShardId shard);
  Row* takes_entries(ShardId shard);
  consensus::Configuration& configuration(const Row& row);

  void append(Row& row, Term term, const EntryView& entry);
  void truncate(Row& row, LogIndex from);
  void fail(ShardId shard, const char* what, std::uint32_t detail);
  void forget(Row& row);
  Status erase(Row& row, ShardId shard);
  Status make_slots(const consensus::Configuration& configuration);
  LogIndex decided_of(const Row& row, ShardId shard) const;
  void finish_row(std::uint32_t row_index);
  void recover_entry(std::uint32_t row_index, const Entry& entry, LogIndex decided);
  // What the entries up to `decided` say, of which order_ names those of the row, newest first.
  std::optional<consensus::Configuration> configuration_at(std::uint32_t row_index,
                                                           LogIndex decided) const;

  Environment env_;
  NodeId self_;
  std::vector<Row> rows_;
  std::vector<Entry> entries_;
  consensus::Configuration initial_;
  std::vector<std::uint32_t> order_;  // Of finish_row; kept warm.
  Row* loading_ = nullptr;            // The row whose hard value is being decoded.
  ledger::Lsn lsn_;
  ledger::Lsn newest_checkpoint_lsn_;
  Status failure_;
  bool decided_only_ = false;
  bool forgetful_ = false;
  bool decide_all_ = false;
  std::function<LogIndex(ShardId)> state_at_;  // Of decide_all(); may be empty.
};

}  // namespace gcoord::server
