// A data directory made of a snapshot: what is kept, what rises, and what is refused.
#include "server/restore/restore.h"

#include "common/bytes.h"
#include "common/incarnation.h"
#include "ledger/base/error_details.h"
#include "ledger/checkpoint/checkpoint_store.h"
#include "ledger/directory/data_directory.h"
#include "ledger/disk/posix_disk.h"
#include "locks/cpu/lock_cpu.h"
#include "locks/snapshot/snapshot.h"
#include "membership/view/cpu.h"
#include "security/roles/command.h"
#include "security/roles/role_cpu.h"
#include "server/replicas/first_configuration.h"
#include "server/replicas/ledger_state.h"
#include "server/replicas/shard_codec.h"
#include "server/resident/stored/state.h"
#include "server/resident/stored/turn_mark.h"
#include "server/restore/states.h"
#include "tests/ledger/snapshot/snapshot_samples.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kShards = 8;
constexpr ShardId kUsed{3};
// Of node 2, started for the 9th time.
constexpr SessionId kHolder{(std::uint64_t{2} << 48) | (std::uint64_t{9} << 32) | 1};

class NoEntries final : public HardEntryVisitor {
 public:
  void on_entry(LogIndex, Term, const EntryView&) override { ++count; }

  int count = 0;
};

// The values of a store, by shard.
struct StoredShard {
  HardValue hard;
  locks::LockSnapshot state;
  std::vector<std::byte> head;    // Of a node with a history.
  std::size_t behind = 0;         // Of the cluster log, in shard 0.
  std::vector<std::byte> view;    // Of the cluster view, in shard 0.
  std::vector<std::byte> access;  // Of users and roles, in shard 0.
  std::vector<std::byte> bytes;
};

class Values final : public ledger::CheckpointVisitor {
 public:
  void on_shard(ShardId shard,
                std::span<const std::byte> hard,
                std::span<const std::byte> service) override {
    NoEntries entries;
    StoredShard& stored = shards[shard.value];
    const auto value = decode_hard_value(hard, entries);
    ASSERT_TRUE(value.has_value());
    EXPECT_EQ(entries.count, 0);
    stored.hard = *value;
    const auto part = service_part(shard, service);
    ASSERT_TRUE(part.has_value());
    stored.head.assign(service.begin(), service.begin() + (part->data() - service.data()));
    stored.behind = service.size() - stored.head.size() - part->size();
    stored.bytes.assign(part->begin(), part->end());
    const auto view = view_part(shard, service);
    ASSERT_TRUE(view.has_value());
    stored.view.assign(view->begin(), view->end());
    const auto access = access_part(shard, service);
    ASSERT_TRUE(access.has_value());
    stored.access.assign(access->begin(), access->end());
    auto state = locks::parse_snapshot(stored.bytes);
    ASSERT_TRUE(state.ok()) << state.status().to_string();
    stored.state = std::move(state).value();
  }

  std::map<std::uint32_t, StoredShard> shards;
};

class SnapshotRestoreTest : public testing::Test {
 protected:
  // A snapshot in which one shard of eight holds one lock.
  void SetUp() override {
    locks::LockOptions lock_options;
    lock_options.shard_count = kShards;
    locks::LockCpu tables(lock_options);
    std::array<locks::LockEvent, locks::kLockEventsPerCommandMax> room{};
    locks::LockEvents events{room.data(), static_cast<std::uint32_t>(room.size()), 0};
    const auto granted =
        tables.apply(kUsed,
                     LogIndex{41},
                     locks::make_acquire(
                         {kHolder, RequestSequence{1}, RequestSequence{1}, "held", false, 60'000}),
                     Tick{1},
                     events);
    ASSERT_EQ(granted.token, FencingToken{1});
    state_ = tables.serialize(kUsed);
    write({{{.shard = kUsed, .applied = LogIndex{41}, .applied_term = Term{6}, .term = Term{7}},
            state_,
            {}}});
  }

  void write(const std::vector<ledger::SampleShard>& shards,
             const ledger::SnapshotHeader& header = ledger::sample_header()) {
    auto writer = ledger::SnapshotFileWriter::create(file_);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer.value()->write(ledger::encode_sample(header, shards)).ok());
    ASSERT_TRUE(writer.value()->commit().ok());
  }

  RestoreOptions options(std::uint32_t node = 1) const {
    return {.file = file_,
            .data_directory = directory_.path("node-" + std::to_string(node)),
            .node = NodeId{node},
            .nodes = {NodeId{1}, NodeId{2}, NodeId{3}},
            .random_id = 99 + node};
  }

  Values values_of(const std::string& path) {
    Values values;
    const auto store = ledger::CheckpointStore::open(path + "/checkpoint");
    EXPECT_TRUE(store.ok()) << store.status().to_string();
    EXPECT_TRUE(store.value()->load(values).ok());
    EXPECT_EQ(store.value()->covered_lsn(), ledger::Lsn{0});
    const auto stored = store.value()->get_meta(kInitialConfigurationKey);
    EXPECT_TRUE(stored.ok());
    EXPECT_TRUE(decode_configuration(stored.value()).has_value());
    return values;
  }

  Result<ClusterId> cluster_of(const RestoreOptions& changed) {
    RestoreOptions once = changed;
    once.data_directory = directory_.path("try-" + std::to_string(++tries_));
    GCOORD_TRY(const Restored restored, restore_snapshot(once));
    return restored.cluster;
  }

  const ScratchFolder directory_;
  const std::string file_ = directory_.path("saved");
  std::vector<std::byte> state_;
  int tries_ = 0;
};

TEST_F(SnapshotRestoreTest, KeepsStatesAndRaisesWhatMustRiseInEveryShard) {
  const auto restored = restore_snapshot(options());
  ASSERT_TRUE(restored.ok()) << restored.status().to_string();
  EXPECT_EQ(restored.value().locks, 1u);
  EXPECT_EQ(restored.value().sessions, 1u);
  const Values values = values_of(options().data_directory);
  ASSERT_EQ(values.shards.size(), kShards);
  for (const auto& [shard, stored] : values.shards) {
    const bool used = shard == kUsed.value;
    EXPECT_EQ(stored.hard.lsn, ledger::Lsn{0});
    EXPECT_EQ(stored.hard.term, Term{kTermBump + (used ? 7 : 0)});
    EXPECT_EQ(stored.hard.floor_term, stored.hard.term);
    EXPECT_EQ(stored.hard.floor, LogIndex{used ? 42u : 1u});
    EXPECT_EQ(stored.hard.vote, NodeId{0});
    EXPECT_EQ(stored.hard.configuration.voters, 7);
    EXPECT_EQ(stored.state.token_last, kTokenBump + (used ? 1 : 0));
  }
  const locks::LockSnapshot& kept = values.shards.at(kUsed.value).state;
  ASSERT_EQ(kept.locks.size(), 1u);
  EXPECT_EQ(kept.locks[0].name, "held");
  EXPECT_EQ(kept.locks[0].token, FencingToken{1});
  ASSERT_EQ(kept.sessions.size(), 1u);
  EXPECT_EQ(kept.sessions[0].session, kHolder);
}

TEST_F(SnapshotRestoreTest, GivesTheDirectoryAnIdentityThatCountsOnFromTheOldCluster) {
  const auto restored = restore_snapshot(options());
  ASSERT_TRUE(restored.ok()) << restored.status().to_string();
  const auto disk = ledger::PosixDisk::open_directory(options().data_directory);
  const auto identity = ledger::IdentityFile::read(*disk.value());
  ASSERT_TRUE(identity.ok()) << identity.status().to_string();
  EXPECT_EQ(identity.value()->identity().cluster, restored.value().cluster);
  EXPECT_EQ(identity.value()->identity().node, NodeId{1});
  EXPECT_EQ(identity.value()->identity().shard_count, kShards);
  EXPECT_FALSE(identity.value()->in_use());
  EXPECT_FALSE(identity.value()->established());
  EXPECT_TRUE(identity.value()->restored());
  // The session was opened in a 9th start, the header knows of a 7th.
  EXPECT_EQ(start_of(identity.value()->incarnation()), 9 + ledger::kRestoredStart);
}

TEST_F(SnapshotRestoreTest, DropsSessionsAndTheirLocksButNotTheirTokens) {
  RestoreOptions dropping = options();
  dropping.drop_sessions = true;
  const auto restored = restore_snapshot(dropping);
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(restored.value().locks, 0u);
  const StoredShard stored = values_of(dropping.data_directory).shards.at(kUsed.value);
  EXPECT_TRUE(stored.state.sessions.empty());
  EXPECT_TRUE(stored.state.locks.empty());
  EXPECT_EQ(stored.state.token_last, kTokenBump + 1);
}

// The values of a directory as a resident node leaves them: the host turn's behind a head.
class ResidentValues final : public ledger::CheckpointVisitor {
 public:
  void on_shard(ShardId shard,
                std::span<const std::byte> hard,
                std::span<const std::byte> service) override {
    NoEntries entries;
    const auto value = decode_hard_value(hard, entries);
    const auto stored = split_stored_state(service);
    ASSERT_TRUE(value && stored);
    EXPECT_EQ(stored->head.index, value->floor.value);
    EXPECT_EQ(stored->head.piece_count, 0u);
    EXPECT_EQ(stored->head.marks, 0u) << "nothing stands in the new log";
    services[shard.value].assign(stored->service.begin(), stored->service.end());
  }

  std::map<std::uint32_t, std::vector<std::byte>> services;
};

TEST_F(SnapshotRestoreTest, ADirectoryOfTheResidentTurnHasTheSameStatesBehindItsHeads) {
  ASSERT_TRUE(restore_snapshot(options(1)).ok());
  RestoreOptions resident = options(2);
  resident.turn = RestoreTurn::Resident;
  const auto restored = restore_snapshot(resident);
  ASSERT_TRUE(restored.ok()) << restored.status().to_string();
  EXPECT_EQ(restored.value().locks, 1u);
  const auto host =
      ledger::CheckpointStore::open(options(1).data_directory + "/checkpoint").value();
  const auto store = ledger::CheckpointStore::open(resident.data_directory + "/checkpoint").value();
  EXPECT_FALSE(is_of_resident_turn(*host).value());
  EXPECT_TRUE(is_of_resident_turn(*store).value());
  ResidentValues values;
  ASSERT_TRUE(store->load(values).ok());
  ASSERT_EQ(values.services.size(), kShards);
  for (const auto& [shard, service] : values.services) {
    EXPECT_EQ(service, host->get(ledger::CheckpointColumn::Service, ShardId{shard}).value())
        << shard;
  }
}

// In memory mode a resident node begins with nothing, and would not find what lies there.
TEST_F(SnapshotRestoreTest, AResidentTurnTakesNoFileOfMemoryMode) {
  ledger::SnapshotHeader header = ledger::sample_header();
  header.durable = false;
  write({}, header);
  RestoreOptions resident = options(1);
  resident.turn = RestoreTurn::Resident;
  const auto refused = restore_snapshot(resident);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().detail(), ledger::kRestoreRefused);
  EXPECT_FALSE(std::filesystem::exists(resident.data_directory));
  EXPECT_TRUE(restore_snapshot(options(1)).ok());
}

TEST_F(SnapshotRestoreTest, AResidentTurnHasThreeFiveOrSevenNodes) {
  RestoreOptions two = options(1);
  two.turn = RestoreTurn::Resident;
  two.nodes.pop_back();
  const auto refused = restore_snapshot(two);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().detail(), ledger::kRestoreRefused);
  EXPECT_FALSE(std::filesystem::exists(two.data_directory));
}

TEST_F(SnapshotRestoreTest, NodesThatAreRestoredAlikeFormOneClusterAndOthersDoNot) {
  const auto one = cluster_of(options(1));
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  EXPECT_EQ(cluster_of(options(2)).value(), one.value());
  EXPECT_NE(one.value(), ledger::sample_header().cluster);
  RestoreOptions other = options(1);
  other.token_bump = 5;
  EXPECT_NE(cluster_of(other).value(), one.value());
  other = options(1);
  other.drop_sessions = true;
  EXPECT_NE(cluster_of(other).value(), one.value());
  other = options(1);
  other.nodes.pop_back();
  EXPECT_NE(cluster_of(other).value(), one.value());
  other = options(1);
  other.turn = RestoreTurn::Resident;
  EXPECT_NE(cluster_of(other).value(), one.value());
  other = options(1);
  other.cluster_token = "another";
  EXPECT_NE(cluster_of(other).value(), one.value());
  other.cluster = ClusterId{1234};
  EXPECT_EQ(cluster_of(other).value(), ClusterId{1234});
  write({});
  EXPECT_NE(cluster_of(options(1)).value(), one.value()) << "another file";
}

// The tree of a shard goes on from its frontier, with one leaf for the restore.
TEST_F(SnapshotRestoreTest, TreesGoOnFromTheirFrontiersInEveryShard) {
  ledger::SnapshotHeader header = ledger::sample_header();
  header.ledger = true;
  const ledger::SnapshotShard shard{
      .shard = kUsed, .applied = LogIndex{41}, .applied_term = Term{6}, .term = Term{7}};
  const ledger::SnapshotFrontier frontier{41,
                                          {ledger::MerkleHash{std::byte{1}},
                                           ledger::MerkleHash{std::byte{2}},
                                           ledger::MerkleHash{std::byte{3}}}};
  write({{shard, state_, frontier}}, header);
  ASSERT_TRUE(restore_snapshot(options()).ok());
  const Values values = values_of(options().data_directory);
  ASSERT_EQ(values.shards.size(), kShards);
  constexpr std::size_t kEntryBytes = 4 + 36;
  for (const auto& [number, stored] : values.shards) {
    const bool used = number == kUsed.value;
    ASSERT_EQ(stored.head.size(), 16 + 8 + (used ? 3 * 32u : 0u) + kEntryBytes) << number;
    EXPECT_EQ(load<std::uint32_t>(&stored.head[4]), 1u) << "entries behind the frontier";
    EXPECT_EQ(load<std::uint64_t>(&stored.head[8]), stored.hard.floor.value);
    EXPECT_EQ(load<std::uint64_t>(&stored.head[16]), used ? 41u : 0u);
    EXPECT_EQ(stored.head[stored.head.size() - 36], std::byte{4}) << "a record of kind 4";
    EXPECT_EQ(stored.behind, number == 0 ? 24u : 0u) << "an empty cluster log";
  }
  // A tree that is not the log's, and a shard without one where others have theirs.
  RestoreOptions again = options(2);
  write({{shard, state_, ledger::SnapshotFrontier{1, {ledger::MerkleHash{}}}}}, header);
  EXPECT_EQ(restore_snapshot(again).status().detail(), ledger::kSnapshotImpossible);
  write({{shard, state_, std::nullopt}}, header);
  EXPECT_EQ(restore_snapshot(again).status().detail(), ledger::kSnapshotImpossible);
}

// The view goes on with the nodes of the new cluster, behind the saved one.
TEST_F(SnapshotRestoreTest, TheClusterViewGoesOnWithTheNodesOfTheNewCluster) {
  ledger::SnapshotHeader header = ledger::sample_header();
  header.ledger = true;
  protocol::Member two{.id = NodeId{2}, .name = "db"};
  two.labels = {{"zone", "a"}};
  const membership::ViewCpu saved{{.epoch = 6,
                                   .settings = {.shards = kShards, .turn = 1, .stripes = 64},
                                   .nodes = {two, {.id = NodeId{9}, .name = "x"}}}};
  std::vector<std::byte> view;
  saved.serialize(view);
  const ledger::SnapshotShard shard{
      .shard = ShardId{0}, .applied = LogIndex{1}, .applied_term = Term{6}, .term = Term{7}};
  const ledger::SnapshotFrontier frontier{1, {ledger::MerkleHash{std::byte{1}}}};
  write({{shard, {}, frontier, view}}, header);
  ASSERT_TRUE(restore_snapshot(options()).ok());
  const StoredShard stored = values_of(options().data_directory).shards.at(0);
  const auto state = membership::ViewCpu::parse(stored.view);
  ASSERT_TRUE(state.has_value());
  const protocol::ClusterView& restored = state->view();
  EXPECT_EQ(restored.epoch, 7u);
  EXPECT_EQ(restored.settings, (protocol::ViewSettings{.shards = kShards}))
      << "whoever joins takes the turn of the new cluster";
  EXPECT_EQ(protocol::find_member(restored, NodeId{1})->name, "node-1");
  EXPECT_EQ(protocol::find_member(restored, NodeId{2})->name, "db");
  EXPECT_EQ(protocol::find_member(restored, NodeId{2})->labels, two.labels);
  EXPECT_EQ(protocol::find_member(restored, NodeId{9})->state, protocol::MemberState::Removed);
  view.pop_back();
  write({{shard, {}, frontier, view}}, header);
  EXPECT_EQ(restore_snapshot(options(2)).status().detail(), ledger::kSnapshotImpossible);
}

TEST_F(SnapshotRestoreTest, UsersAndRolesGoOnAsTheyWereSaved) {
  ledger::SnapshotHeader header = ledger::sample_header();
  header.ledger = true;
  security::AccessCpu saved;
  security::AccessCommand add;
  // Longer than one section's part.
  for (std::uint64_t k = 0; k < 5'000; ++k) {
    add.expected = k;
    add.name = std::string(200, 'u') + std::to_string(k);
    add.roles = {"root"};
    ASSERT_EQ(saved.apply(security::encode_access_command(add)), security::AccessCode::Applied);
  }
  std::vector<std::byte> access;
  saved.serialize(access);
  ASSERT_GT(access.size(), ledger::kSnapshotPartBytesMax);
  const ledger::SnapshotShard shard{
      .shard = ShardId{0}, .applied = LogIndex{1}, .applied_term = Term{6}, .term = Term{7}};
  const ledger::SnapshotFrontier frontier{1, {ledger::MerkleHash{std::byte{1}}}};
  write({{shard, {}, frontier, {}, access}}, header);
  ASSERT_TRUE(restore_snapshot(options()).ok());
  const StoredShard stored = values_of(options().data_directory).shards.at(0);
  EXPECT_EQ(stored.access, access);
  EXPECT_TRUE(stored.view.empty());
  access.pop_back();
  write({{shard, {}, frontier, {}, access}}, header);
  EXPECT_EQ(restore_snapshot(options(2)).status().detail(), ledger::kSnapshotImpossible);
}

// Where names were moved to is forgotten with the sessions, so every shard may be their next one.
TEST(SnapshotStates, L19TokensGoOnFromTheGreatestOfTheFile) {
  const auto token_after = [](std::span<const std::byte> state, std::uint64_t floor) {
    const auto raised =
        restored_state(state, {.token_bump = 5, .token_floor = floor, .drop_sessions = true});
    EXPECT_TRUE(raised.ok());
    return summarize_state(raised.value()).value().token_last;
  };
  EXPECT_EQ(token_after({}, 0), 5u);
  EXPECT_EQ(token_after({}, 100), 105u);
  const auto later = restored_state({}, {.token_bump = 200}).value();
  EXPECT_EQ(token_after(later, 100), 205u);
}

// Saved while it moved: the home before it left, the other shard after it came.
TEST_F(SnapshotRestoreTest, L19ALockThatWasSavedInTwoShardsIsRestoredInOne) {
  const std::string name = "moved";
  const ShardId home = shard_of(hash_name(name), kShards);
  const ShardId other{(home.value + 1) % kShards};
  locks::LockOptions lock_options;
  lock_options.shard_count = kShards;
  locks::LockCpu tables(lock_options);
  std::vector<locks::LockEvent> room(locks::kLockEventsPerCommandMax);
  std::uint64_t index = 0;
  const auto apply = [&](ShardId shard, const locks::LockCommand& command) {
    locks::LockEvents events{room.data(), static_cast<std::uint32_t>(room.size()), 0};
    return tables.apply(shard, LogIndex{++index}, command, Tick{1}, events);
  };
  const auto acquire = [&](const std::string& lock, std::uint64_t sequence) {
    return locks::make_acquire(
        {kHolder, RequestSequence{sequence}, RequestSequence{1}, lock, false, 60'000});
  };
  const FencingToken held = apply(home, acquire(name, 1)).token;
  const auto at_home = tables.serialize(home);
  apply(home, locks::make_move_out(name, other));
  const locks::DepartedLock left = tables.departed(home).at(0);
  apply(other,
        locks::make_move_in({.from = home,
                             .number = left.number,
                             .token = left.token,
                             .token_last = left.token_last,
                             .name_bytes = left.name_bytes,
                             .text = left.text}));
  apply(other, acquire("another", 1));  // The tokens of this shard are further.
  const auto there = tables.serialize(other);
  const auto sample = [&](ShardId shard, std::vector<std::byte> state) {
    return ledger::SampleShard{
        {.shard = shard, .applied = LogIndex{41}, .applied_term = Term{6}, .term = Term{7}},
        std::move(state),
        {}};
  };
  auto shards = std::vector{sample(home, at_home), sample(other, there)};
  std::ranges::sort(shards, {}, [](const auto& each) { return each.head.shard; });
  write(shards);
  const auto restored = restore_snapshot(options());
  ASSERT_TRUE(restored.ok()) << restored.status().to_string();
  EXPECT_EQ(restored.value().moves_settled, 1u);
  EXPECT_EQ(restored.value().moves_lost, 0u);
  const Values values = values_of(options().data_directory);
  locks::LockCpu after(lock_options);
  for (const ShardId shard : {home, other}) {
    ASSERT_TRUE(after.deserialize(shard, values.shards.at(shard.value).bytes, Tick{1}).ok());
  }
  EXPECT_FALSE(after.get(home, hash_name(name)).has_value());
  ASSERT_TRUE(after.get(other, hash_name(name)).has_value());
  EXPECT_EQ(after.get(other, hash_name(name))->token, held);
  EXPECT_EQ(after.residence(home, hash_name(name))->away_to, other);
  // Wherever it goes on, its tokens are above all that any shard may have granted.
  for (const auto& [number, stored] : values.shards) {
    EXPECT_EQ(stored.state.token_last, held.value + 1 + kTokenBump) << number;
  }
}

TEST_F(SnapshotRestoreTest, RefusesWhatWouldNotBeANewCluster) {
  RestoreOptions same = options();
  same.cluster = ledger::sample_header().cluster;
  EXPECT_EQ(restore_snapshot(same).status().detail(), ledger::kRestoreRefused);
  RestoreOptions absent = options(7);
  EXPECT_EQ(restore_snapshot(absent).status().detail(), ledger::kRestoreRefused);
  RestoreOptions twice = options();
  twice.nodes.push_back(NodeId{1});
  EXPECT_FALSE(restore_snapshot(twice).ok());
  RestoreOptions endless = options();
  endless.token_bump = ~std::uint64_t{0};
  EXPECT_EQ(restore_snapshot(endless).status().detail(), ledger::kRestoreRefused);
  EXPECT_FALSE(std::filesystem::exists(options().data_directory));
}

TEST_F(SnapshotRestoreTest, RefusesADirectoryThatHoldsAnything) {
  std::filesystem::create_directory(options().data_directory);
  EXPECT_TRUE(restore_snapshot(options()).ok()) << "an empty one will do";
  const auto again = restore_snapshot(options());
  EXPECT_EQ(again.status().detail(), ledger::kRestoreNotEmpty);
  EXPECT_EQ(values_of(options().data_directory).shards.size(), kShards) << "left as it was";
}

TEST_F(SnapshotRestoreTest, ADamagedFileLeavesNothingBehind) {
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) - 1);
  EXPECT_EQ(restore_snapshot(options()).status().detail(), ledger::kSnapshotCut);
  EXPECT_FALSE(std::filesystem::exists(options().data_directory));
}

// As a restore leaves it that is killed before its last step.
TEST_F(SnapshotRestoreTest, ANodeRefusesADirectoryThatWasNotFinished) {
  ASSERT_TRUE(restore_snapshot(options()).ok());
  const std::string path = options().data_directory;
  std::filesystem::remove(path + "/identity");
  const auto opened =
      ledger::DataDirectory::open({path, {ClusterId{1}, NodeId{1}, kShards, true}, 12});
  EXPECT_EQ(opened.status().detail(), ledger::kRestoreUnfinished);
  EXPECT_FALSE(std::filesystem::exists(path + "/identity"));
}

TEST_F(SnapshotRestoreTest, StatesThatNoNodeGivesAreFound) {
  std::vector<std::byte> cut(state_.begin(), state_.end() - 1);
  EXPECT_EQ(summarize_state(cut).status().detail(), ledger::kSnapshotImpossible);
  write({{{.shard = kUsed, .applied = LogIndex{4}}, cut, {}}});
  EXPECT_EQ(restore_snapshot(options()).status().detail(), ledger::kSnapshotImpossible);
}

}  // namespace
}  // namespace gcoord::server
