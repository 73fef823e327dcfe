#include "server/survivor/survivor.h"

#include "consensus/step/log_runs.h"
#include "ledger/base/error_details.h"
#include "ledger/cluster/repair_file.h"
#include "ledger/disk/posix_disk.h"
#include "ledger/snapshot/encoder.h"
#include "ledger/snapshot/file.h"
#include "ledger/wal/recovery.h"
#include "protocol/error_codes.h"
#include "server/interfaces/errors.h"
#include "server/offline/machine.h"
#include "server/platform/version.h"
#include "server/replicas/first_configuration.h"
#include "server/replicas/recovery.h"
#include "server/replicas/replica_rows.h"
#include "server/replicas/shard_codec.h"
#include "server/survivor/resident_log.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::MemberRole;
using protocol::MemberState;

Status unfit(std::string why) {
  return protocol::make_error(ErrorCode::ForceUnfit, std::move(why));
}

// A store that is not there would be made anew by opening it.
Status check_there(const std::string& path, const char* what, std::uint32_t detail) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return Status{};
  }
  return Status{StatusCode::DataLoss, "the " + std::string(what) + " " + path + " is gone", detail};
}

Result<consensus::Configuration> founders_in(const ledger::CheckpointStore& store) {
  const auto stored = store.get_meta(kInitialConfigurationKey);
  return stored.ok() ? founding_configuration(stored.value()) : stored.status();
}

// What the directory says of itself before anything in it is read.
Status check_identity(const ledger::IdentityFile& identity) {
  if (!identity.in_use()) {
    return unfit("its node never ran");
  }
  if (identity.rejoining()) {
    return unfit(
        "it takes the place of a directory that was lost, and has not got all shards back from the "
        "other nodes");
  }
  if (!identity.established()) {
    return unfit("its node has not met all nodes of its cluster, so it has never voted");
  }
  return Status{};
}

Status check_repair(ledger::Disk& disk) {
  GCOORD_TRY(const auto repaired, ledger::read_repair_file(disk));
  return repaired.empty() ? Status{}
                          : unfit("the history of " + std::to_string(repaired.size()) +
                                  " shards in it differs from the majority's and was being "
                                  "repaired");
}

Status check_member(const protocol::ClusterView& view, NodeId node) {
  const protocol::Member* const self = protocol::find_member(view, node);
  if (self == nullptr) {
    return Status{};
  }
  if (self->state == MemberState::Removed) {
    return unfit("its node has left the cluster");
  }
  if (self->state == MemberState::Joining) {
    return unfit("its node was still joining the cluster, so shards may be missing");
  }
  return self->role == MemberRole::Witness ? unfit("its node is a witness: it has no service state")
                                           : Status{};
}

std::vector<NodeId> others_of(const SurvivorFacts& facts,
                              const consensus::Configuration& founders) {
  std::vector<NodeId> others;
  for (const protocol::Member& member : facts.view.nodes) {
    if (member.state != MemberState::Removed) {
      others.push_back(member.id);
    }
  }
  if (facts.view.epoch == 0) {
    others.assign(std::begin(founders.node), std::end(founders.node));
  }
  std::erase(others, facts.identity.node);
  std::erase(others, NodeId{0});
  std::ranges::sort(others);
  return others;
}

ledger::SnapshotFrontier saved_frontier(const ledger::MerkleFrontier& frontier) {
  return {.size = frontier.size, .peaks = frontier.peaks};
}

}  // namespace

struct Survivor::Impl {
  Impl(std::unique_ptr<ledger::Disk> opened,
       std::unique_ptr<ledger::IdentityFile> read,
       ChosenStepper chosen)
      : disk(std::move(opened)),
        identity(std::move(read)),
        rows(std::move(chosen), consensus::RowMap(identity->identity().shard_count), 1) {}

  Status read(const std::string& directory, const protocol::ClusterView& kept);
  Status open_stores(const std::string& directory);
  Status read_log(const std::string& directory, Recovery& recovery) const;
  void count(const Recovery& recovery);
  void take_view(const protocol::ClusterView& kept);
  LogIndex state_at(ShardId shard) const;
  ledger::SnapshotShard reached(std::uint32_t row) const;
  ledger::SnapshotHeader header(std::uint64_t time_ms) const;
  Status save_shards(ledger::SnapshotEncoder& encoder);

  std::unique_ptr<ledger::Disk> disk;
  std::unique_ptr<ledger::IdentityFile> identity;
  std::unique_ptr<ledger::CheckpointStore> store;
  ReplicaRows rows;
  std::unique_ptr<OfflineMachine> offline;
  std::unique_ptr<ResidentLog> resident;  // Stands before it where the directory is one's.
  membership::ViewCpu views;
  SurvivorFacts facts;
};

Status Survivor::Impl::open_stores(const std::string& directory) {
  GCOORD_TRY_STATUS(
      check_there(directory + "/checkpoint", "checkpoint store", ledger::kCheckpointRot));
  GCOORD_TRY_STATUS(check_there(directory + "/history", "history store", ledger::kHistoryRot));
  GCOORD_TRY(store, ledger::CheckpointStore::open(directory + "/checkpoint"));
  GCOORD_TRY(offline,
             OfflineMachine::open(directory + "/history", identity->identity().shard_count));
  return Status{};
}

// In memory mode there is none.
Status Survivor::Impl::read_log(const std::string& directory, Recovery& recovery) const {
  if (!identity->identity().keeps_log) {
    return Status{};
  }
  GCOORD_TRY_STATUS(check_there(directory + "/wal", "log of record", ledger::kWalAbsent));
  GCOORD_TRY(const auto log_disk, ledger::PosixDisk::open_directory(directory + "/wal"));
  ledger::WalOptions options;
  options.cluster = identity->identity().cluster;
  options.node = identity->identity().node;
  options.salt_seed = identity->directory_id();
  options.replay_after = store->covered_lsn();
  ledger::WalRecovery report;
  GCOORD_TRY(const auto log, ledger::recover_wal(*log_disk, options, recovery, report));
  if (!log) {
    return Status{StatusCode::DataLoss,
                  "the log of record in " + directory + "/wal is gone",
                  ledger::kWalAbsent};
  }
  if (log->last_lsn < recovery.newest_checkpoint_lsn()) {
    return Status{StatusCode::DataLoss,
                  "the log of record ends at " + std::to_string(log->last_lsn.value) +
                      " but a checkpoint holds record " +
                      std::to_string(recovery.newest_checkpoint_lsn().value),
                  ledger::kWalBehind};
  }
  return Status{};
}

Status Survivor::Impl::read(const std::string& directory, const protocol::ClusterView& kept) {
  GCOORD_TRY_STATUS(check_identity(*identity));
  GCOORD_TRY_STATUS(check_repair(*disk));
  GCOORD_TRY_STATUS(check_member(kept, identity->identity().node));  // A witness has no stores.
  GCOORD_TRY_STATUS(open_stores(directory));
  GCOORD_TRY(const consensus::Configuration founders, founders_in(*store));
  GCOORD_TRY(resident,
             ResidentLog::open(*store, identity->identity(), {founders, offline->machine()}));
  Recovery recovery({.map = rows.map,
                     .columns = rows.columns(),
                     .pool = rows.pool,
                     .log = rows.log,
                     .service = resident ? resident->machine() : offline->machine(),
                     .grow = [this](std::uint32_t slots) { return rows.stepper->grow(slots); }},
                    identity->identity().node);
  recovery.decide_all([this](ShardId shard) { return state_at(shard); });
  recovery.set_initial_configuration(founders);
  GCOORD_TRY_STATUS(store->load(recovery));
  GCOORD_TRY_STATUS(read_log(directory, recovery));
  GCOORD_TRY_STATUS(recovery.finish([](std::uint32_t) {}));
  GCOORD_TRY_STATUS(offline->failure());
  count(recovery);
  take_view(kept);
  facts.others = others_of(facts, founders);
  return check_member(facts.view, facts.identity.node);
}

void Survivor::Impl::count(const Recovery& recovery) {
  facts.identity = identity->identity();
  facts.directory = identity->directory_id();
  facts.incarnation = identity->incarnation();
  facts.newest_ms = offline->newest_ms();
  facts.resident = resident != nullptr;
  for (std::uint32_t row = 0; row < rows.map.row_count(); ++row) {
    const Recovery::Reach reach = recovery.reach(row);
    facts.shards_used += reach.last == LogIndex{0} ? 0 : 1;
    facts.entries += reach.last.value;
    facts.decided += reach.decided.value;
    facts.checkpoints += reach.floor.value;
    const consensus::ShardRef ref = rows.ref(row);
    facts.entry_terms += consensus::last_term(ref.log(), ref.runs()).value;
    facts.term_newest = max_id(facts.term_newest, ref.hot().term);
  }
}

void Survivor::Impl::take_view(const protocol::ClusterView& kept) {
  views = offline->views();
  if (kept.epoch > views.view().epoch) {
    views = membership::ViewCpu(kept);
  }
  facts.view = views.view();
}

ledger::SnapshotHeader Survivor::Impl::header(std::uint64_t time_ms) const {
  const ledger::NodeIdentity& self = identity->identity();
  ledger::SnapshotHeader header{.cluster = self.cluster,
                                .time_ms = time_ms,
                                .node = self.node,
                                .shard_count = self.shard_count,
                                .durable = self.keeps_log,
                                .ledger = true,
                                .nodes = {{self.node, identity->incarnation()}},
                                .release = std::string(kVersion)};
  for (const ledger::PeerIdentity& peer : identity->peers()) {
    if (header.nodes.size() < ledger::kSnapshotNodesMax && peer.node != self.node) {
      header.nodes.push_back({peer.node, peer.incarnation});
    }
  }
  std::ranges::sort(header.nodes, {}, &ledger::SnapshotNode::node);
  return header;
}

// Of a host turn's node the log says it.
LogIndex Survivor::Impl::state_at(ShardId shard) const {
  return resident ? resident->applied(shard) : LogIndex{};
}

// How far state and tree of a row go. What stands at a state's index in this log need not be what
// was decided there, if it stands there at all; then its term is at most the row's.
ledger::SnapshotShard Survivor::Impl::reached(std::uint32_t row) const {
  const consensus::ShardRef ref = rows.ref(row);
  const ShardId shard = rows.shard_of(row);
  const LogIndex applied = max_id(ref.log().applied, state_at(shard));
  const Term term = ref.hot().term;
  return {.shard = shard,
          .applied = applied,
          .applied_term =
              applied == ref.log().last ? consensus::last_term(ref.log(), ref.runs()) : term,
          .term = term};
}

Status Survivor::Impl::save_shards(ledger::SnapshotEncoder& encoder) {
  std::vector<std::byte> state;
  for (std::uint32_t row = 0; row < rows.map.row_count(); ++row) {
    const ledger::SnapshotShard reach = reached(row);
    if (reach.applied == LogIndex{0}) {
      continue;  // Nothing was applied, so nothing is said.
    }
    const ShardId shard = reach.shard;
    GCOORD_TRY(const ledger::MerkleFrontier frontier, offline->frontier(shard));
    state.clear();
    offline->state(shard, state);
    encoder.shard(reach, state);
    encoder.frontier(saved_frontier(frontier));
    if (shard == ShardId{0} && !views.is_empty()) {
      state.clear();
      views.serialize(state);
      encoder.section(ledger::SnapshotKind::View, ledger::kSnapshotPassOver, state);
    }
    if (shard == ShardId{0} && !offline->access().is_empty()) {
      state.clear();
      offline->access().serialize(state);
      encoder.section(ledger::SnapshotKind::Access, 0, state);
    }
    if (shard == ShardId{0} && !offline->limits().is_empty()) {
      state.clear();
      offline->limits().serialize(state);
      encoder.section(ledger::SnapshotKind::Limits, ledger::kSnapshotPassOver, state);
    }
  }
  return Status{};
}

Survivor::Survivor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Survivor::~Survivor() = default;

const SurvivorFacts& Survivor::facts() const {
  return impl_->facts;
}

Result<std::unique_ptr<Survivor>> Survivor::open(const std::string& directory,
                                                 const protocol::ClusterView& kept) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    return unfit("there is no directory " + directory);
  }
  std::unique_ptr<ledger::Disk> disk;
  GCOORD_TRY(disk, ledger::PosixDisk::open_directory(directory));
  GCOORD_TRY(const bool is_node, disk->exists("identity"));
  if (!is_node) {
    return unfit(directory + " is not the data directory of a node");
  }
  GCOORD_TRY(auto identity, ledger::IdentityFile::read(*disk));
  GCOORD_TRY(ChosenStepper stepper,
             choose_stepper(
                 {.device = {}, .row_count = identity->identity().shard_count, .slot_count = 1}));
  auto impl = std::make_unique<Impl>(std::move(disk), std::move(identity), std::move(stepper));
  GCOORD_TRY_STATUS(impl->read(directory, kept));
  return std::unique_ptr<Survivor>(new Survivor(std::move(impl)));
}

Status Survivor::save(const std::string& file, std::uint64_t time_ms) {
  GCOORD_TRY(const auto writer, ledger::SnapshotFileWriter::create(file));
  Status written;
  ledger::SnapshotEncoder encoder(impl_->header(time_ms), [&](std::span<const std::byte> bytes) {
    written = written.ok() ? writer->write(bytes) : written;
  });
  GCOORD_TRY_STATUS(impl_->save_shards(encoder));
  encoder.finish();
  GCOORD_TRY_STATUS(written);
  return writer->commit();
}

}  // namespace gcoord::server
