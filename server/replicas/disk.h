// Persistent state of a node: its directory, its log of record, its checkpoints, in the order in
// which they open and close. In memory mode there is no log: nothing is ever submitted, and
// checkpoints are a warm start for a replica that has forgotten the rest.
//
// A turn submits its items; who waits for them says turn_record.h. One thread, but for
// durable_lsn(); the two threads inside show only as eventfds.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "ledger/checkpoint/checkpoint_store.h"
#include "ledger/checkpoint/checkpointer.h"
#include "ledger/directory/data_directory.h"
#include "ledger/directory/identity_file.h"
#include "ledger/wal/batch.h"
#include "ledger/wal/writer.h"
#include "server/replicas/options.h"
#include "server/replicas/recoveries.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace gcoord::server {

class ReplicaDisk {
 public:
  // Opens directory, store and log and gives what they hold to `recovery`, short of finish().
  // random_id: for the directory, when it is created.
  static Result<std::unique_ptr<ReplicaDisk>> open(const ReplicaOptions& options,
                                                   std::uint64_t random_id,
                                                   Recoveries& recovery,
                                                   MetricsRegistry& metrics);
  ~ReplicaDisk();
  ReplicaDisk(const ReplicaDisk&) = delete;
  ReplicaDisk& operator=(const ReplicaDisk&) = delete;

  ledger::IdentityFile& identity() { return *identity_; }

  // Whether this node promised nothing before this life.
  bool first_boot() const { return first_boot_; }

  // Or nothing that anybody counts: its directory was not established, or joins just now.
  bool first_life() const { return first_life_; }

  // What the cluster was founded with, or restored with, as this directory has it; unknown
  // (shard_codec.h) in one that joined later.
  const consensus::Configuration& founders() const { return founders_; }

  // Whether the rows came back as ones that may have forgotten what this node promised: always in
  // memory mode; in durable mode while a peer may remember another directory of it.
  bool forgot() const { return forgot_; }

  // Hands the items of a turn, of which there are some, to the writer. They are durable when
  // durable_lsn() has reached what is returned. The batch comes back empty.
  ledger::Lsn submit(ledger::WalBatch& batch);

  ledger::Lsn submitted_lsn() const { return writer_ ? submitted_lsn_ : durable_lsn(); }

  // How far the log of record reaches. In memory mode there is none, and what peers remember of
  // this directory is only whether it ever took part: an image from before that must not come back.
  ledger::Lsn durable_lsn() const {
    return writer_ ? writer_->durable_lsn() : ledger::Lsn{identity_->established() ? 1u : 0u};
  }

  ledger::Lsn checkpoint_lsn() const { return store_->covered_lsn(); }

  // Any thread may read it.
  const ledger::CheckpointStore& checkpoints() const { return *store_; }

  // Bytes of all records submitted in this life.
  std::uint64_t submitted_bytes() const { return submitted_bytes_; }

  bool submit_checkpoint(ledger::CheckpointBatch&& batch);
  // The result of the last submit_checkpoint, once.
  std::optional<Status> take_checkpoint_result();

  // The writer's failure, once.
  std::optional<Status> take_failure() { return writer_ ? writer_->take_failure() : std::nullopt; }

  // As HostReplicas::advance_storage and storage_queued.
  bool advance();
  bool queued() const;

  std::vector<int> event_fds() const;
  // Rearms the eventfds. True: something came since it was last taken, or was written; do not
  // sleep.
  bool rearm();

 private:
  ReplicaDisk() = default;

  void tell_drops();
  Status open_directory(const ReplicaOptions& options, std::uint64_t random_id);
  Status check_turn(const ReplicaOptions& options);
  Result<consensus::Configuration> begin_store(const ReplicaOptions& options);
  Status load_checkpoints(const ReplicaOptions& options, Recoveries& recovery);
  Status replay_log(const ReplicaOptions& options, Recoveries& recovery, MetricsRegistry& metrics);

  std::unique_ptr<ledger::DataDirectory> directory_;      // Unless disks were given.
  std::unique_ptr<ledger::IdentityFile> identity_owned_;  // If disks were given.
  ledger::IdentityFile* identity_ = nullptr;
  ledger::Disk* wal_disk_ = nullptr;
  bool first_boot_ = false;
  bool first_life_ = false;
  consensus::Configuration founders_;
  bool forgot_ = false;
  std::unique_ptr<ledger::CheckpointStore> store_;
  std::unique_ptr<ledger::WalWriter> writer_;  // None in memory mode.
  std::unique_ptr<ledger::Checkpointer> checkpointer_;
  std::optional<Status> checkpoint_result_;
  ledger::Lsn submitted_lsn_;
  std::uint64_t submitted_bytes_ = 0;
  std::uint64_t told_drops_ = 0;  // Segments of the log of record, as the node's log has them.
};

// All nodes as voters of weight 1, in ascending order: the configuration of every shard at first
// boot.
Result<consensus::Configuration> initial_configuration(const ReplicaOptions& options);

}  // namespace gcoord::server
