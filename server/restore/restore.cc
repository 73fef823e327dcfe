#include "server/restore/restore.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/incarnation.h"
#include "ledger/base/error_details.h"
#include "ledger/checkpoint/checkpoint_store.h"
#include "ledger/directory/data_directory.h"
#include "ledger/disk/posix_disk.h"
#include "membership/view/cpu.h"
#include "membership/view/restored_view.h"
#include "server/interfaces/log_record.h"
#include "server/replicas/first_configuration.h"
#include "server/replicas/ledger_state.h"
#include "server/replicas/shard_codec.h"
#include "server/resident/stored/state.h"
#include "server/resident/stored/turn_mark.h"
#include "server/restore/states.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace gcoord::server {
namespace {

// As a checkpoint does: few, large writes that still fit the store's memtable.
constexpr std::size_t kSliceBytes = std::size_t{4} << 20;

Status refused(std::string what) {
  return {StatusCode::InvalidArgument, std::move(what), ledger::kRestoreRefused};
}

// What no shard's state says alone: the newest token of all, and what has become of moved names.
class Overview final : public ledger::SnapshotStates {
 public:
  Status on_header(const ledger::SnapshotHeader& header) override {
    moves_.emplace(header.shard_count);
    return {};
  }

  Status on_state(const ledger::SnapshotState& whole) override {
    GCOORD_TRY(const StateSummary summary, summarize_state(whole.state));
    token_ = std::max(token_, summary.token_last);
    return moves_->take(whole.shard.shard, lock_state_of(whole.state));
  }

  void conclude() { moves_->conclude(); }

  std::uint64_t token() const { return token_; }

  const locks::MoveSurvey& moves() const { return *moves_; }

 private:
  std::uint64_t token_ = 0;
  std::optional<locks::MoveSurvey> moves_;
};

// Told the states of the file, writes the checkpoints of every shard of the new cluster.
class Restorer final : public ledger::SnapshotStates {
 public:
  Restorer(const RestoreOptions& options,
           const consensus::Configuration& configuration,
           ledger::CheckpointStore& store,
           const Overview& overview)
      : options_(options),
        configuration_(configuration),
        store_(store),
        moves_(overview.moves()),
        // A moved lock's tokens may be above those of the shard where it goes on.
        token_floor_(options.drop_sessions || moves_.names() != 0 ? overview.token() : 0) {
    restored_.moves_settled = moves_.settled();
    restored_.moves_lost = moves_.lost();
    batch_.put_meta(kInitialConfigurationKey, encode_configuration(configuration));
    if (is_resident()) {
      mark_resident_turn(batch_);
    }
  }

  Status on_header(const ledger::SnapshotHeader& header) override {
    if (options_.cluster == header.cluster) {
      return refused(
          "--cluster-id is that of the saved cluster; a restored cluster needs a new one");
    }
    if (is_resident() && !header.durable) {
      return refused(
          "--turn resident restores clusters of --durability durable, and the saved one had "
          "memory");
    }
    restored_.header = header;
    for (const ledger::SnapshotNode& each : header.nodes) {
      ordinal_newest_ = std::max(ordinal_newest_, ordinal_of(each.incarnation));
    }
    return {};
  }

  Status on_state(const ledger::SnapshotState& whole) override {
    const bool has_tree = whole.frontier.has_value();
    if (has_tree != restored_.header.ledger ||
        (has_tree && whole.frontier->size != whole.shard.applied.value)) {
      return {StatusCode::DataLoss,
              "shard " + std::to_string(whole.shard.shard.value) + " has another tree than log",
              ledger::kSnapshotImpossible};
    }
    GCOORD_TRY_STATUS(fill_up_to(whole.shard.shard));
    GCOORD_TRY_STATUS(write(whole));
    next_ = whole.shard.shard + 1;
    return {};
  }

  // The whole file was right: the shards behind the last one, and what is left of the batch.
  Status finish(const ledger::SnapshotFacts& facts) {
    restored_.facts = facts;
    GCOORD_TRY_STATUS(fill_up_to(ShardId{restored_.header.shard_count}));
    return store_.write(batch_);
  }

  // In which the node of the directory was started last, so to speak.
  Result<Incarnation> incarnation_before() const {
    const std::uint32_t start = ordinal_newest_ + ledger::kRestoredStart;
    if (start >= kStartMax) {
      return refused("the nodes of that cluster have used up their count of starts");
    }
    return incarnation_of(0, start);
  }

  Restored& restored() { return restored_; }

 private:
  // Shards in which nothing was applied, up to but not including `end`.
  Status fill_up_to(ShardId end) {
    for (; next_ < end; ++next_) {
      unused_.shard.shard = next_;
      if (restored_.header.ledger) {
        unused_.frontier.emplace();  // Of a tree without leaves.
      }
      GCOORD_TRY_STATUS(write(unused_));
    }
    return {};
  }

  Status write(const ledger::SnapshotState& whole) {
    const ledger::SnapshotShard& shard = whole.shard;
    GCOORD_TRY(const StateSummary summary, summarize_state(whole.state));
    GCOORD_TRY(const auto changed,
               restored_state(whole.state,
                              {.token_bump = options_.token_bump,
                               .token_floor = token_floor_,
                               .drop_sessions = options_.drop_sessions,
                               .fixes = moves_.fixes(shard.shard)}));
    ordinal_newest_ = std::max(ordinal_newest_, summary.ordinal_newest);
    const bool same = !options_.drop_sessions && moves_.fixes(shard.shard).empty();
    GCOORD_TRY(const StateSummary kept,
               same ? Result<StateSummary>{summary} : summarize_state(changed));
    restored_.sessions += kept.sessions;
    restored_.locks += kept.locks;
    const Term term = shard.term + kTermBump;
    if (term < shard.term || shard.applied + 1 < shard.applied) {
      return refused("shard " + std::to_string(shard.shard.value) + " has no terms or places left");
    }
    const LogIndex floor = shard.applied + 1;
    encode_hard_value(
        hard_, {.term = term, .floor = floor, .floor_term = term, .configuration = configuration_});
    batch_.put(ledger::CheckpointColumn::Hard, shard.shard, hard_);
    service_.clear();
    if (is_resident()) {
      begin_stored_state(service_, {.index = floor.value}, {});
    }
    if (whole.frontier) {
      begin_ledger_state(service_, *whole.frontier, restore_entry());
    }
    service_.insert(service_.end(), changed.begin(), changed.end());
    if (whole.frontier) {
      GCOORD_TRY(const ClusterStates states, restored_states(whole));
      end_ledger_state(service_, shard.shard, states);
      if (!states.view.is_empty()) {
        restored_.view = states.view.view();
      }
    }
    batch_.put(ledger::CheckpointColumn::Service, shard.shard, service_);
    if (batch_.size_bytes() >= kSliceBytes) {
      GCOORD_TRY_STATUS(store_.write(batch_));
      batch_.clear();
    }
    return {};
  }

  bool is_resident() const { return options_.turn == RestoreTurn::Resident; }

  // The view of the new cluster's nodes, and its users, roles and limits as they were saved; empty
  // ones where none were.
  Result<ClusterStates> restored_states(const ledger::SnapshotState& whole) const {
    const auto saved = membership::ViewCpu::parse(whole.view);
    auto access = security::AccessCpu::parse(whole.access);
    auto limits = security::LimitCpu::parse(whole.limits);
    if (!saved || !access || !limits) {
      return Status{StatusCode::DataLoss,
                    std::string(!saved    ? "the cluster view"
                                : !access ? "the users and roles"
                                          : "the limits") +
                        " in shard " + std::to_string(whole.shard.shard.value) +
                        " cannot be decoded",
                    ledger::kSnapshotImpossible};
    }
    return ClusterStates{
        membership::ViewCpu{view_of_turn(saved->view())}, *std::move(access), *std::move(limits)};
  }

  // Who joins goes by what the view says of the turn.
  membership::ClusterView view_of_turn(const membership::ClusterView& saved) const {
    membership::ClusterView view = membership::restored_view(saved, options_.nodes);
    const std::uint32_t turn = is_resident() ? 1 : 0;
    if (view.epoch != 0 && view.settings.turn != turn) {
      view.settings.turn = turn;
      view.settings.stripes = 0;
    }
    return view;
  }

  // The entry at the index that the restore has in every log, where logs have trees: a record
  // header with the time of the save, then cluster saved 8, token bump 8, term bump 8, sessions
  // dropped 4. The same on every node that restores alike.
  std::vector<std::byte> restore_entry() const {
    const auto header = encode_record_header(
        {RecordKind::Restore, protocol::RecordOrigin::System, restored_.header.time_ms});
    std::vector<std::byte> entry(header.begin(), header.end());
    entry.resize(header.size() + 8 + 8 + 8 + 4);
    std::byte* at = store(&entry[header.size()], restored_.header.cluster.value);
    at = store(at, options_.token_bump);
    at = store(at, kTermBump);
    store(at, std::uint32_t{options_.drop_sessions ? 1u : 0u});
    return entry;
  }

  const RestoreOptions& options_;
  const consensus::Configuration& configuration_;
  ledger::CheckpointStore& store_;
  const locks::MoveSurvey& moves_;
  std::uint64_t token_floor_;
  ledger::CheckpointBatch batch_;
  std::vector<std::byte> hard_;
  std::vector<std::byte> service_;
  ledger::SnapshotState unused_;  // A shard in which nothing was applied.
  Restored restored_;
  ShardId next_;
  std::uint32_t ordinal_newest_ = 0;
};

// A directory that is being filled: what lies in it goes away again unless keep() was called.
class FreshDirectory {
 public:
  static Result<std::unique_ptr<FreshDirectory>> open(const std::string& path) {
    std::error_code error;
    const bool existed = std::filesystem::exists(path, error);
    if (existed && !std::filesystem::is_empty(path, error)) {
      return Status{StatusCode::FailedPrecondition, path, ledger::kRestoreNotEmpty};
    }
    std::unique_ptr<FreshDirectory> directory(new FreshDirectory(path, existed));
    GCOORD_TRY(directory->disk_, ledger::PosixDisk::open_directory(path));
    GCOORD_TRY(directory->lock_, ledger::DirectoryLock::take(path));
    return directory;
  }

  ~FreshDirectory() {
    std::error_code ignored;
    if (!kept_) {
      std::filesystem::remove_all(path_ + "/checkpoint", ignored);
      std::filesystem::remove(path_ + "/LOCK", ignored);
    }
    if (!kept_ && !existed_) {
      std::filesystem::remove(path_, ignored);
    }
  }

  FreshDirectory(const FreshDirectory&) = delete;
  FreshDirectory& operator=(const FreshDirectory&) = delete;

  ledger::Disk& disk() { return *disk_; }

  void keep() { kept_ = true; }

 private:
  FreshDirectory(std::string path, bool existed) : path_(std::move(path)), existed_(existed) {}

  std::string path_;
  bool existed_;
  bool kept_ = false;
  std::unique_ptr<ledger::PosixDisk> disk_;
  std::unique_ptr<ledger::DirectoryLock> lock_;
};

Status check_turn(const RestoreOptions& options) {
  if (options.turn == RestoreTurn::Host || has_resident_turn(options.nodes.size())) {
    return Status{};
  }
  return refused("--turn resident makes clusters of 3, 5 or 7 nodes, and --nodes names " +
                 std::to_string(options.nodes.size()));
}

template <typename T>
void add_number(ledger::Sha256Stream& hash, T value) {
  std::array<std::byte, sizeof value> bytes{};
  store(bytes.data(), value);
  hash.add(bytes);
}

// The same on every node that restores alike, and on no other.
ClusterId derived_cluster(const RestoreOptions& options, const ledger::SnapshotFacts& facts) {
  constexpr std::string_view kWhat = "gcoord restore 1";
  constexpr std::string_view kResidentTurn = "resident";
  ledger::Sha256Stream hash;
  hash.add(std::as_bytes(std::span{kWhat}));
  hash.add(facts.digest);
  add_number(hash, options.token_bump);
  add_number(hash, std::uint32_t{options.drop_sessions ? 1u : 0u});
  std::vector<NodeId> nodes = options.nodes;
  std::sort(nodes.begin(), nodes.end());
  if (options.turn == RestoreTurn::Resident) {
    hash.add(std::as_bytes(std::span{kResidentTurn}));
  }
  add_number(hash, static_cast<std::uint32_t>(nodes.size()));
  for (const NodeId node : nodes) {
    add_number(hash, node.value);
  }
  hash.add(std::as_bytes(std::span{options.cluster_token}));
  const ledger::Sha256Stream::Digest digest = hash.finish();
  return ClusterId{std::max<std::uint64_t>(load<std::uint64_t>(digest.data()), 1)};
}

}  // namespace

Result<Restored> restore_snapshot(const RestoreOptions& options) {
  GCOORD_ASSERT(options.random_id != 0);
  if (std::ranges::find(options.nodes, options.node) == options.nodes.end()) {
    return refused("--nodes does not name the node of --node");
  }
  GCOORD_TRY_STATUS(check_turn(options));
  GCOORD_TRY(const consensus::Configuration configuration, first_configuration(options.nodes));
  GCOORD_TRY(const auto directory, FreshDirectory::open(options.data_directory));
  GCOORD_TRY(auto store, ledger::CheckpointStore::open(options.data_directory + "/checkpoint"));
  // What is dropped with all sessions says where the names are that were moved, too: then they
  // begin anew at home, and count on from the greatest token of all.
  Overview overview;
  GCOORD_TRY(const ledger::SnapshotFacts seen, ledger::read_snapshot(options.file, overview));
  static_cast<void>(seen);
  overview.conclude();
  Restorer restorer(options, configuration, *store, overview);
  GCOORD_TRY(const ledger::SnapshotFacts facts, ledger::read_snapshot(options.file, restorer));
  GCOORD_TRY_STATUS(restorer.finish(facts));
  store.reset();
  Restored restored = restorer.restored();
  restored.cluster = options.cluster.value != 0 ? options.cluster : derived_cluster(options, facts);
  GCOORD_TRY(const Incarnation before, restorer.incarnation_before());
  GCOORD_TRY_STATUS(directory->disk().sync_directory());
  GCOORD_TRY_STATUS(ledger::IdentityFile::create(
      directory->disk(),
      {restored.cluster, options.node, restored.header.shard_count, restored.header.durable},
      options.random_id,
      before));
  directory->keep();
  return restored;
}

}  // namespace gcoord::server
