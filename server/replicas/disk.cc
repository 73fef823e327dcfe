#include "server/replicas/disk.h"

#include "common/assert.h"
#include "server/interfaces/errors.h"
#include "server/platform/boot_time.h"
#include "server/platform/operator_log.h"
#include "server/replicas/first_configuration.h"
#include "server/replicas/shard_codec.h"
#include "server/resident/stored/turn_mark.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

// Takes the count out of an eventfd, so that it is readable again only after the next event.
bool drain(int event_fd) {
  std::uint64_t count = 0;
  return event_fd >= 0 && read(event_fd, &count, sizeof count) == sizeof count;
}

// Before there is a view the options name the nodes that the cluster was founded with.
Status check_founders(const ReplicaOptions& options, const consensus::Configuration& founders) {
  GCOORD_TRY(const consensus::Configuration named, initial_configuration(options));
  if (founders.members() == named.members() &&
      std::equal(std::begin(founders.node), std::end(founders.node), named.node)) {
    return Status{};
  }
  return Status{StatusCode::FailedPrecondition,
                "the cluster was created with other nodes than --node-id and --peer name now; "
                "name all nodes that it was created with",
                kEngineOptions};
}

}  // namespace

Result<consensus::Configuration> initial_configuration(const ReplicaOptions& options) {
  std::vector<NodeId> nodes = {options.node};
  for (const netcore::PeerAddress& peer : options.peers) {
    nodes.push_back(peer.id);
  }
  return first_configuration(std::move(nodes));
}

Result<std::unique_ptr<ReplicaDisk>> ReplicaDisk::open(const ReplicaOptions& options,
                                                       std::uint64_t random_id,
                                                       Recoveries& recovery,
                                                       MetricsRegistry& metrics) {
  std::unique_ptr<ReplicaDisk> disk(new ReplicaDisk);
  GCOORD_TRY_STATUS(disk->open_directory(options, random_id));
  if (!options.repaired_shards.empty()) {
    recovery.repair(options.repaired_shards);
  }
  const bool memory = options.durability == consensus::Durability::Memory;
  if (memory) {
    recovery.forget_promises();
  }
  GCOORD_TRY_STATUS(disk->load_checkpoints(options, recovery));
  disk->forgot_ = memory || disk->identity_->rejoining() || !disk->identity_->established();
  if (memory) {
    GCOORD_TRY_STATUS(disk->identity_->mark_in_use());
  } else {
    if (disk->forgot_) {
      recovery.doubt_promises();
    }
    GCOORD_TRY_STATUS(disk->replay_log(options, recovery, metrics));
  }
  if (!options.repaired_shards.empty()) {
    // Behind all that can refuse: a start that fails uses up none of the 255 generations.
    GCOORD_TRY_STATUS(disk->identity_->begin_generation(random_id));
  }
  disk->checkpointer_ = std::make_unique<ledger::Checkpointer>(
      *disk->store_,
      disk->writer_.get(),
      ledger::CheckpointerOptions{&metrics, options.storage_driver, options.before_checkpoint});
  return disk;
}

ReplicaDisk::~ReplicaDisk() = default;

Status ReplicaDisk::open_directory(const ReplicaOptions& options, std::uint64_t random_id) {
  const ledger::NodeIdentity identity{options.cluster,
                                      options.node,
                                      options.shard_count,
                                      options.durability == consensus::Durability::Durable};
  std::string checkpoint_path = options.data_directory + "/checkpoint";
  if (options.identity_disk != nullptr) {
    GCOORD_TRY(identity_owned_,
               ledger::IdentityFile::open(*options.identity_disk, identity, random_id));
    identity_ = identity_owned_.get();
    wal_disk_ = options.wal_disk;
  } else {
    GCOORD_TRY(
        directory_,
        ledger::DataDirectory::open(
            {options.data_directory, identity, random_id, options.before_start, options.space}));
    identity_ = &directory_->identity();
    wal_disk_ = &directory_->wal_disk();
    checkpoint_path = directory_->checkpoint_path();
  }
  first_boot_ = !identity_->in_use();
  if (options.on_directory) {
    GCOORD_TRY_STATUS(options.on_directory());
  }
  GCOORD_TRY(store_,
             options.open_checkpoint_store
                 ? options.open_checkpoint_store()
                 : ledger::CheckpointStore::open(checkpoint_path, options.space));
  return Status{};
}

// A directory keeps the entries of one turn. A new one is marked with the first thing it holds.
Status ReplicaDisk::check_turn(const ReplicaOptions& options) {
  GCOORD_TRY(const bool resident, is_of_resident_turn(*store_));
  if (resident == options.resident_entries) {
    return Status{};
  }
  return Status{StatusCode::FailedPrecondition,
                options.data_directory + " was written with --turn " +
                    (resident ? "resident" : "host") + ", which has a log format of its own; " +
                    "gcoordctl snapshot save and restore take a cluster to the other turn",
                kEngineOptions};
}

// Of a store that holds nothing yet: the configuration of shards that no checkpoint mentions.
Result<consensus::Configuration> ReplicaDisk::begin_store(const ReplicaOptions& options) {
  consensus::Configuration configuration;
  if (!options.joins && !options.carried) {
    GCOORD_TRY(configuration, initial_configuration(options));
  }
  ledger::CheckpointBatch batch;
  batch.put_meta(kInitialConfigurationKey, encode_configuration(configuration));
  if (options.resident_entries) {
    mark_resident_turn(batch);
  }
  GCOORD_TRY_STATUS(store_->write(batch));
  return configuration;
}

Status ReplicaDisk::load_checkpoints(const ReplicaOptions& options, Recoveries& recovery) {
  consensus::Configuration configuration;
  const auto stored = store_->get_meta(kInitialConfigurationKey);
  if (stored.ok()) {
    GCOORD_TRY_STATUS(check_turn(options));
    GCOORD_TRY(configuration, founding_configuration(stored.value()));
    if (options.members_epoch == 0 && !is_unknown(configuration)) {
      GCOORD_TRY_STATUS(check_founders(options, configuration));
    }
  } else if (stored.status().code() != StatusCode::NotFound) {
    return stored.status();
  } else {
    GCOORD_TRY(configuration, begin_store(options));
  }
  founders_ = configuration;
  const bool joined = is_unknown(configuration) && !options.carried && !identity_->rejoining();
  first_life_ = !identity_->established() || (joined && first_boot_);
  if (joined) {
    // Its number was nobody's before, so no earlier directory of it promised anything.
    GCOORD_TRY_STATUS(identity_->mark_established());
  }
  recovery.set_initial_configuration(configuration);
  return store_->load(recovery);
}

Status ReplicaDisk::replay_log(const ReplicaOptions& options,
                               Recoveries& recovery,
                               MetricsRegistry& metrics) {
  const ledger::WalOptions wal_options{
      .cluster = options.cluster,
      .node = options.node,
      .salt_seed = identity_->directory_id(),
      .segment_bytes = options.wal_segment_bytes,
      .replay_after = store_->covered_lsn(),
      .on_absence = first_boot_ ? ledger::WalAbsence::Create : ledger::WalAbsence::Refuse,
      .room = options.space};
  GCOORD_TRY(auto wal, ledger::Wal::open(*wal_disk_, wal_options, recovery));
  if (wal->last_lsn() < recovery.newest_checkpoint_lsn()) {
    return Status{StatusCode::DataLoss,
                  "the log of record ends at " + std::to_string(wal->last_lsn().value) +
                      " but a checkpoint holds record " +
                      std::to_string(recovery.newest_checkpoint_lsn().value) + ledger::kRotAdvice,
                  ledger::kWalBehind};
  }
  GCOORD_TRY_STATUS(identity_->mark_in_use());
  submitted_lsn_ = wal->last_lsn();
  writer_ = std::make_unique<ledger::WalWriter>(
      std::move(wal),
      ledger::WalWriterOptions{.metrics = &metrics,
                               .clock_us = [] { return boot_time_us(); },
                               .driver = options.storage_driver});
  return Status{};
}

void ReplicaDisk::tell_drops() {
  const std::uint64_t drops = writer_ ? writer_->dropped_segments() : 0;
  if (drops != told_drops_) {
    log_debug(LogComponent::Disk,
              "{} files of the log of record are covered by checkpoints and were removed",
              drops - std::exchange(told_drops_, drops));
  }
}

ledger::Lsn ReplicaDisk::submit(ledger::WalBatch& batch) {
  if (log_enabled(LogComponent::Disk, LogLevel::Debug)) {
    tell_drops();
  }
  submitted_bytes_ += batch.encoded().size();
  submitted_lsn_ = writer_->submit(std::move(batch));
  batch.clear();
  return submitted_lsn_;
}

bool ReplicaDisk::advance() {
  const bool wrote = writer_ && writer_->advance();
  return checkpointer_->advance() || wrote;
}

bool ReplicaDisk::queued() const {
  return checkpointer_->busy() || (writer_ && writer_->queued_bytes() > 0);
}

bool ReplicaDisk::submit_checkpoint(ledger::CheckpointBatch&& batch) {
  GCOORD_ASSERT(batch.lsn() <= durable_lsn());
  return checkpointer_->submit(std::move(batch));
}

std::optional<Status> ReplicaDisk::take_checkpoint_result() {
  return checkpoint_result_ ? std::exchange(checkpoint_result_, std::nullopt)
                            : checkpointer_->take_done();
}

std::vector<int> ReplicaDisk::event_fds() const {
  std::vector<int> fds = {checkpointer_->event_fd()};
  if (writer_) {
    fds.push_back(writer_->event_fd());
  }
  return fds;
}

bool ReplicaDisk::rearm() {
  // Drained before looking: what comes after the look makes the eventfd readable again.
  const bool written = writer_ && drain(writer_->event_fd());
  drain(checkpointer_->event_fd());
  if (!checkpoint_result_) {
    checkpoint_result_ = checkpointer_->take_done();
  }
  return written || checkpoint_result_.has_value();
}

}  // namespace gcoord::server
