// The data directory of node 3 of a cluster of three, as it lies there after a kill: a checkpoint
// with a lock, and behind it a log with one entry that is known to be decided and one that is not.
#pragma once

#include "ledger/checkpoint/checkpoint_store.h"
#include "ledger/directory/identity_file.h"
#include "ledger/disk/posix_disk.h"
#include "ledger/history/store.h"
#include "ledger/merkle/frontier_growth.h"
#include "ledger/snapshot/file.h"
#include "ledger/wal/wal.h"
#include "locks/commands/command.h"
#include "locks/cpu/lock_cpu.h"
#include "membership/view/cpu.h"
#include "membership/view/part.h"
#include "server/interfaces/log_record.h"
#include "server/replicas/shard_codec.h"
#include "server/restore/restore.h"
#include "server/start/kept_members.h"
#include "tests/ledger/snapshot/snapshot_samples.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

inline constexpr std::uint32_t kSurvivorShards = 8;
inline constexpr ShardId kSurvivorUsed{3};
inline constexpr SessionId kSurvivorHolder{(std::uint64_t{2} << 48) | (std::uint64_t{9} << 32) | 1};
inline constexpr Term kSurvivorTerm{kTermBump + 3};
inline constexpr std::uint64_t kSurvivorCheckpoint = 3;  // The newest index in it.

// The folder that a data directory lies in, with what lies beside that.
class NodeFolder {
 public:
  explicit NodeFolder(std::filesystem::path folder) : path_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return path_; }

  std::string path() const { return (path_ / "data").string(); }

  std::string beside(const std::string& suffix) const { return path() + suffix; }

  std::vector<std::string> neighbours() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::unique_ptr<ledger::PosixDisk> disk() const {
    return ledger::PosixDisk::open_directory(path()).value();
  }

  ClusterId cluster_now() const {
    const auto opened = disk();
    return ledger::IdentityFile::read(*opened).value()->identity().cluster;
  }

 private:
  std::filesystem::path path_;
};

// What a base needs before the folder that it is told of.
struct SurvivorScratch {
  const ScratchFolder scratch;
};

class SurvivorDirectory : private SurvivorScratch, public NodeFolder {
 public:
  // The parts that tests make otherwise.
  struct Plan {
    std::function<void(protocol::ClusterView&)> change_view = {};
    bool in_use = true;
    bool established = true;
    // --turn resident: the state of the used shard came from another host, one entry ahead of what
    // the log is known to have decided, and this many empty entries stand behind that.
    bool resident = false;
    std::uint32_t empty_entries = 0;
  };

  SurvivorDirectory() : SurvivorDirectory(Plan{}) {}

  explicit SurvivorDirectory(const Plan& plan) : NodeFolder(scratch.path()) {
    save();
    restore(plan);
    if (plan.change_view) {
      plan.change_view(view_);
      write_view();
    }
    run(plan);
  }

  ClusterId cluster() const { return cluster_; }

  std::string id() const { return std::to_string(cluster_.value); }

  static std::vector<std::byte> record(const std::string& name, std::uint64_t sequence) {
    std::vector<std::byte> bytes;
    put_record_header(bytes,
                      {RecordKind::LockCommand, protocol::RecordOrigin::Remote, 1'764'000'000'000});
    locks::encode(acquire(name, sequence), bytes);
    return bytes;
  }

  static ledger::MerkleFrontier saved_frontier() {
    ledger::MerkleFrontier frontier;
    for (std::uint64_t k = 0; k < kSurvivorCheckpoint - 1; ++k) {
      ledger::append_leaf(frontier, ledger::hash_leaf(std::as_bytes(std::span("leaf").first(4))));
    }
    return frontier;
  }

 private:
  static locks::LockCommand acquire(const std::string& name, std::uint64_t sequence) {
    return locks::make_acquire(
        {kSurvivorHolder, RequestSequence{sequence}, RequestSequence{1}, name, false, 60'000});
  }

  static protocol::ClusterView view() {
    protocol::ClusterView made{.epoch = 5,
                               .settings = {.shards = kSurvivorShards,
                                            .tick_ms = 10,
                                            .election_ms = 1000,
                                            .heartbeat_ms = 100},
                               .nodes = {}};
    for (std::uint32_t id = 1; id <= 3; ++id) {
      made.nodes.push_back({.id = NodeId{id}, .name = "node-" + std::to_string(id)});
    }
    return made;
  }

  // The snapshot that the cluster was restored from.
  void save() {
    locks::LockOptions options;
    options.shard_count = kSurvivorShards;
    locks::LockCpu tables(options);
    std::array<locks::LockEvent, locks::kLockEventsPerCommandMax> room{};
    locks::LockEvents events{room.data(), static_cast<std::uint32_t>(room.size()), 0};
    tables.apply(kSurvivorUsed, LogIndex{1}, acquire("held", 1), Tick{1}, events);
    const ledger::MerkleFrontier grown = saved_frontier();
    const ledger::SnapshotFrontier frontier{grown.size, grown.peaks};
    const LogIndex applied{kSurvivorCheckpoint - 1};
    ledger::SnapshotHeader header = ledger::sample_header();
    header.ledger = true;
    std::vector<std::byte> state;
    membership::ViewCpu(view()).serialize(state);
    auto writer = ledger::SnapshotFileWriter::create(beside(".saved")).value();
    const auto bytes = ledger::encode_sample(
        header,
        {{{.shard = ShardId{0}, .applied = applied, .applied_term = Term{2}, .term = Term{2}},
          tables.serialize(ShardId{0}),
          frontier,
          state},
         {{.shard = kSurvivorUsed, .applied = applied, .applied_term = Term{2}, .term = Term{2}},
          tables.serialize(kSurvivorUsed),
          frontier}});
    EXPECT_TRUE(writer->write(bytes).ok());
    EXPECT_TRUE(writer->commit().ok());
  }

  void restore(const Plan& plan) {
    RestoreOptions options;
    options.file = beside(".saved");
    options.data_directory = path();
    options.node = NodeId{3};
    options.nodes = {NodeId{1}, NodeId{2}, NodeId{3}};
    options.random_id = 77;
    options.turn = plan.resident ? RestoreTurn::Resident : RestoreTurn::Host;
    const auto restored = restore_snapshot(options);
    ASSERT_TRUE(restored.ok()) << restored.status().to_string();
    std::filesystem::remove(options.file);
    cluster_ = restored.value().cluster;
    view_ = restored.value().view;
  }

  // One life of the node.
  void run(const Plan& plan) {
    const auto opened = disk();
    auto identity =
        ledger::IdentityFile::open(*opened, {cluster_, NodeId{3}, kSurvivorShards, true}, 78);
    ASSERT_TRUE(identity.ok()) << identity.status().to_string();
    if (plan.in_use) {
      EXPECT_TRUE(identity.value()->mark_in_use().ok());
    }
    if (plan.established) {
      EXPECT_TRUE(identity.value()->mark_established().ok());
    }
    ASSERT_TRUE(ledger::HistoryStore::open(path() + "/history", kSurvivorShards).ok());
    KeptMembers kept;
    kept.members.view = view_;
    EXPECT_TRUE(write_kept_members(*opened, kept).ok());
    if (plan.resident) {
      set_log_back();
    }
    write_log(identity.value()->directory_id(), plan);
  }

  // The used shard's log without the restore's entry, which its state has.
  void set_log_back() const {
    class NoEntries final : public HardEntryVisitor {
      void on_entry(LogIndex, Term, const EntryView&) override {}
    } no_entries;

    auto store = ledger::CheckpointStore::open(path() + "/checkpoint").value();
    const auto stored = store->get(ledger::CheckpointColumn::Hard, kSurvivorUsed).value();
    auto hard = decode_hard_value(stored, no_entries);
    ASSERT_TRUE(hard.has_value());
    ASSERT_EQ(hard->floor, LogIndex{kSurvivorCheckpoint});
    hard->floor = hard->floor - 1;
    hard->floor_term = Term{2};
    std::vector<std::byte> bytes;
    encode_hard_value(bytes, *hard);
    ledger::CheckpointBatch batch;
    batch.put(ledger::CheckpointColumn::Hard, kSurvivorUsed, bytes);
    ASSERT_TRUE(store->write(batch).ok());
  }

  void write_view() const {
    auto store = ledger::CheckpointStore::open(path() + "/checkpoint").value();
    const auto stored = store->get(ledger::CheckpointColumn::Service, ShardId{0}).value();
    const auto before = membership::split_view_part(stored)->before;
    std::vector<std::byte> bytes(before.begin(), before.end());
    membership::append_view_part(membership::ViewCpu(view_), bytes);
    ledger::CheckpointBatch batch;
    batch.put(ledger::CheckpointColumn::Service, ShardId{0}, bytes);
    ASSERT_TRUE(store->write(batch).ok());
  }

  // A lock that was granted, and one of which nobody knows.
  void write_log(std::uint64_t directory_id, const Plan& plan) const {
    class Nothing final : public ledger::WalVisitor {
      void on_hard_state(ShardId, Term, NodeId) override {}

      void on_entries(ShardId, LogIndex, std::uint32_t) override {}

      void on_entry(ShardId, LogIndex, Term, std::uint8_t, std::span<const std::byte>) override {}

      void on_truncate(ShardId, LogIndex) override {}

      void on_snapshot_installed(ShardId, LogIndex, Term, std::span<const std::byte>) override {}
    } nothing;

    const auto log_disk = ledger::PosixDisk::open_directory(path() + "/wal").value();
    ledger::WalOptions options;
    options.cluster = cluster_;
    options.node = NodeId{3};
    options.salt_seed = directory_id;
    options.segment_bytes = std::uint64_t{1} << 20;
    auto log = ledger::Wal::open(*log_disk, options, nothing);
    ASSERT_TRUE(log.ok()) << log.status().to_string();
    const LogIndex first{kSurvivorCheckpoint + 1};
    constexpr auto kCommand = static_cast<std::uint8_t>(consensus::EntryKind::Command);
    ledger::WalBatch batch;
    batch.hard_state(kSurvivorUsed, kSurvivorTerm, NodeId{3});
    if (!plan.resident) {
      batch.begin_entries(kSurvivorUsed, first, 2);
      batch.entry(kSurvivorTerm, kCommand, record("decided", 2));
      batch.entry(kSurvivorTerm, kCommand, record("open", 3));
      batch.commit(kSurvivorUsed, first);
    } else if (plan.empty_entries != 0) {
      batch.begin_entries(kSurvivorUsed, first - 1, plan.empty_entries);
      for (std::uint32_t k = 0; k < plan.empty_entries; ++k) {
        batch.entry(Term{2}, static_cast<std::uint8_t>(consensus::EntryKind::Noop), {});
      }
    }
    ASSERT_TRUE(log.value()->append(batch).ok());
    ASSERT_TRUE(log.value()->sync().ok());
    ASSERT_TRUE(log.value()->seal().ok());
  }

  ClusterId cluster_;
  protocol::ClusterView view_;
};

}  // namespace gcoord::server
