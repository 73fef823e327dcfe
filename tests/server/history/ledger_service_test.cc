// History behind a service of one node: its trees through snapshots, crashes and saves.
#include "server/history/ledger_service.h"

#include "common/random.h"
#include "ledger/base/error_details.h"
#include "ledger/history/memory_store.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/snapshot/frontier.h"
#include "ledger/trees/cpu.h"
#include "server/history/history.h"
#include "server/interfaces/log_record.h"
#include "server/replicas/shard_codec.h"
#include "tests/server/host_turn/engine_cluster.h"

#include <gtest/gtest.h>

#include <array>

namespace gcoord::server {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

// A node's history over a disk in memory, without an engine.
struct Kept {
  explicit Kept(ledger::HistoryMedium& medium,
                ledger::StorageDriver driver = ledger::StorageDriver::Owner,
                const ledger::KeepPolicy& keep = {}) {
    NodeHistoryOptions options;
    options.shard_count = 2;
    options.driver = driver;
    options.keep = keep;
    history = std::make_unique<NodeHistory>(std::move(options), toy);
    opened = history->open(ledger::open_memory_history_store(medium));
  }

  LedgerService& service() { return history->service(); }

  void apply(std::uint64_t index, const std::string& text) {
    AppliedEntry entry{.shard = ShardId{1}, .index = LogIndex{index}};
    entry.payload = bytes_of(text);
    service().apply(entry);
  }

  ledger::ShardHead head() {
    const ShardId shard{1};
    return history->worker().history()->heads({&shard, 1}).value().front();
  }

  ToyService toy;
  std::unique_ptr<NodeHistory> history;
  Status opened;
};

TEST(LedgerService, LeavesAreTheEntriesAndWhatAnEngineMakesHasAHeader) {
  ledger::HistoryMedium medium;
  Kept kept(medium);
  AppliedEntry entry{.shard = ShardId{1}, .index = LogIndex{1}};
  entry.kind = consensus::EntryKind::Noop;
  kept.service().apply(entry);
  const consensus::Configuration configuration;
  entry.index = LogIndex{2};
  entry.kind = consensus::EntryKind::Configuration;
  entry.payload = encode_configuration(configuration);
  kept.service().apply(entry);
  kept.apply(3, "a command behind its header");
  AppliedEntry device{.shard = ShardId{1}, .index = LogIndex{4}};
  const std::string of_device(64, 'd');
  device.leaf = bytes_of(of_device);
  kept.service().apply(device);
  ASSERT_TRUE(kept.history->end_turn(true).ok());

  ledger::MemoryTree model;
  std::vector<std::byte> leaf;
  put_record_header(leaf, {RecordKind::Noop});
  EXPECT_EQ(leaf, std::vector<std::byte>(8));
  model.append(leaf);
  leaf.clear();
  put_record_header(leaf, {RecordKind::Configuration});
  const auto encoded = encode_configuration(configuration);
  leaf.insert(leaf.end(), encoded.begin(), encoded.end());
  model.append(leaf);
  model.append(bytes_of("a command behind its header"));
  model.append(bytes_of(of_device));
  EXPECT_EQ(kept.head().size, 4u);
  EXPECT_EQ(kept.head().root, ledger::root_at(model, 4).value());
}

// Two checkpoints later a slow save found the entries gone that its frontiers are made of.
TEST(LedgerService, WhatASaveNeedsStaysWhileItIsOpen) {
  ledger::HistoryMedium medium;
  Kept kept(medium, ledger::StorageDriver::Owner, {.entries = 100});
  const auto grow = [&kept](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t index = from; index <= to; ++index) {
      kept.apply(index, "entry " + std::to_string(index));
    }
    std::vector<std::byte> bytes;
    kept.service().checkpoint(ShardId{1}, bytes);
    kept.service().checkpoint(ShardId{1}, bytes);
    ASSERT_TRUE(kept.history->end_turn(true).ok());
  };
  ledger::HistoryWorker& worker = kept.history->worker();
  const auto history = worker.history();
  // By policy and by hand; what goes is gone from the store, too.
  const auto prune = [&worker] {
    worker.keep();
    return worker.prune({.shard = ShardId{1}, .below = 2000}, [] {}).get().ok();
  };
  const auto frontier = [&history] {
    return ledger::snapshot_frontier(*history->reader(ShardId{1}), 1000).status();
  };
  grow(1, 1000);
  auto pin = kept.history->pin();
  grow(1001, 3000);
  ASSERT_TRUE(kept.history->settle().ok());
  EXPECT_TRUE(prune());
  EXPECT_EQ(history->first(ShardId{1}), 768u);
  EXPECT_TRUE(frontier().ok());
  pin.reset();
  EXPECT_TRUE(prune());
  EXPECT_EQ(history->first(ShardId{1}), 2816u);
  EXPECT_EQ(frontier().detail(), ledger::kLedgerPruned);
}

TEST(LedgerService, ACheckpointFromBeforeASnapshotHasNoHistoryToGoOnFrom) {
  ledger::HistoryMedium medium;
  Kept source(medium);
  for (std::uint64_t index = 1; index <= 30; ++index) {
    source.apply(index, "entry " + std::to_string(index));
  }
  ASSERT_TRUE(source.history->end_turn(true).ok());
  std::vector<std::byte> snapshot;
  source.service().serialize(ShardId{1}, snapshot);

  ledger::HistoryMedium other_medium;
  Kept other(other_medium);
  for (std::uint64_t index = 1; index <= 10; ++index) {
    other.apply(index, "entry " + std::to_string(index));
  }
  std::vector<std::byte> before;
  other.service().checkpoint(ShardId{1}, before);
  EXPECT_TRUE(other.service().continues(ShardId{1}, before));
  // Another history has taken the place of its own, as may happen in memory mode.
  ASSERT_TRUE(other.history->worker().history()->forget(ShardId{1}).ok());
  ASSERT_TRUE(other.service().install(ShardId{1}, snapshot).ok());
  ASSERT_TRUE(other.history->end_turn(true).ok());
  EXPECT_FALSE(other.service().continues(ShardId{1}, before));
  EXPECT_FALSE(other.service().continues(ShardId{1}, {}));
  std::vector<std::byte> after;
  other.service().checkpoint(ShardId{1}, after);
  EXPECT_TRUE(other.service().continues(ShardId{1}, after));
  EXPECT_TRUE(other.service().continues(ShardId{1}, snapshot)) << "it brings its own";
}

TEST(LedgerService, ASnapshotLeadsToTheSameTreeThoughTheWorkerIsBehind) {
  ledger::HistoryMedium medium;
  Kept source(medium);
  for (std::uint64_t index = 1; index <= 300; ++index) {
    source.apply(index, "entry " + std::to_string(index));
  }
  ASSERT_TRUE(source.history->end_turn(true).ok());
  for (std::uint64_t index = 301; index <= 310; ++index) {
    source.apply(index, "entry " + std::to_string(index));  // Not handed over yet.
  }
  std::vector<std::byte> bytes;
  source.service().serialize(ShardId{1}, bytes);
  ASSERT_TRUE(source.history->end_turn(true).ok());

  ledger::HistoryMedium other_medium;
  Kept other(other_medium);
  ASSERT_TRUE(other.service().plausible(ShardId{1}, bytes));
  ASSERT_TRUE(other.service().install(ShardId{1}, bytes).ok());
  std::vector<std::byte> again;
  other.service().serialize(ShardId{1}, again);
  ASSERT_TRUE(other.history->end_turn(true).ok());
  EXPECT_EQ(other.head(), source.head());
  EXPECT_EQ(other.history->worker().history()->first(ShardId{1}), 300u);
  EXPECT_EQ(other.toy.commands(ShardId{1}), source.toy.commands(ShardId{1}));
  EXPECT_EQ(again, bytes);
  other.apply(311, "one more");
  source.apply(311, "one more");
  ASSERT_TRUE(other.history->end_turn(true).ok());
  ASSERT_TRUE(source.history->end_turn(true).ok());
  EXPECT_EQ(other.head(), source.head());
}

// As after a crash: history has more than the engine knows to be decided.
TEST(LedgerService, ASnapshotIsOfWhatWasAppliedThoughHistoryIsAhead) {
  ledger::HistoryMedium medium;
  std::vector<std::byte> checkpoint;
  {
    Kept earlier(medium);
    for (std::uint64_t index = 1; index <= 300; ++index) {
      earlier.apply(index, "entry " + std::to_string(index));
      if (index == 277) {
        earlier.service().checkpoint(ShardId{1}, checkpoint);
      }
    }
    ASSERT_TRUE(earlier.history->end_turn(true).ok());
    ASSERT_TRUE(earlier.history->settle().ok());
  }
  Kept source(medium);
  ASSERT_TRUE(source.service().install(ShardId{1}, checkpoint).ok());
  source.history->recovered();
  source.apply(278, "entry 278");
  EXPECT_EQ(source.head().size, 300u);
  std::vector<std::byte> bytes;
  source.service().serialize(ShardId{1}, bytes);

  ledger::HistoryMedium other_medium;
  Kept other(other_medium);
  ASSERT_TRUE(other.service().plausible(ShardId{1}, bytes));
  ASSERT_TRUE(other.service().install(ShardId{1}, bytes).ok());
  EXPECT_EQ(other.head().size, 278u);
  for (std::uint64_t index = 279; index <= 300; ++index) {
    other.apply(index, "entry " + std::to_string(index));
  }
  ASSERT_TRUE(other.history->end_turn(true).ok());
  EXPECT_EQ(other.head(), source.head());
}

std::vector<std::byte> snapshot_of(Kept& kept) {
  std::vector<std::byte> bytes;
  kept.service().serialize(ShardId{1}, bytes);
  return bytes;
}

void grow(Kept& kept, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t index = from; index <= to; ++index) {
    kept.apply(index, "entry " + std::to_string(index));
  }
  ASSERT_TRUE(kept.history->end_turn(true).ok());
}

// Whether a node that installs it comes to the root that the source has for as many entries.
void expect_leads_on(std::span<const std::byte> snapshot, std::uint64_t size, Kept& source) {
  ledger::HistoryMedium medium;
  Kept other(medium);
  ASSERT_TRUE(other.service().plausible(ShardId{1}, snapshot));
  ASSERT_TRUE(other.service().install(ShardId{1}, snapshot).ok());
  EXPECT_EQ(other.head().size, size);
  grow(other, size + 1, 40);
  EXPECT_EQ(other.head(), source.head());
}

// A snapshot was in history when its node crashed, and not in the log of record; the next leader
// sent a lesser one. World 3876: what the node wrote of it could not be read any more.
TEST(LedgerService, ASnapshotFromBeforeHistoryBeginsIsPassedOnAndKept) {
  ledger::HistoryMedium source_medium;
  Kept source(source_medium);
  grow(source, 1, 20);
  const auto lesser = snapshot_of(source);
  grow(source, 21, 30);
  const auto greater = snapshot_of(source);
  grow(source, 31, 40);
  ledger::HistoryMedium medium;
  {
    Kept earlier(medium);
    ASSERT_TRUE(earlier.service().install(ShardId{1}, greater).ok());
    ASSERT_TRUE(earlier.history->settle().ok());
  }
  std::vector<std::byte> checkpoint;
  {
    Kept next(medium);
    next.history->recovered();
    ASSERT_TRUE(next.service().install(ShardId{1}, lesser).ok());
    EXPECT_EQ(next.history->worker().history()->first(ShardId{1}), 30u);
    expect_leads_on(snapshot_of(next), 20, source);
    grow(next, 21, 25);
    expect_leads_on(snapshot_of(next), 25, source);
    next.service().checkpoint(ShardId{1}, checkpoint);
    ASSERT_TRUE(next.history->settle().ok());
  }
  Kept last(medium);
  ASSERT_TRUE(last.service().continues(ShardId{1}, checkpoint));
  ASSERT_TRUE(last.service().install(ShardId{1}, checkpoint).ok());
  last.history->recovered();
  expect_leads_on(snapshot_of(last), 25, source);
  grow(last, 26, 35);
  expect_leads_on(snapshot_of(last), 35, source);
  grow(last, 36, 40);
  EXPECT_EQ(last.head(), source.head());
  EXPECT_TRUE(last.history->settle().ok());
}

TEST(LedgerService, APeersStateHasAFrontierAndASizeThatATreeCanHave) {
  ledger::HistoryMedium medium;
  Kept kept(medium);
  kept.apply(1, "a");
  std::vector<std::byte> checkpoint;
  kept.service().checkpoint(ShardId{1}, checkpoint);
  EXPECT_FALSE(kept.service().plausible(ShardId{1}, checkpoint));
  EXPECT_TRUE(kept.service().plausible(ShardId{1}, {}));
  // Version, kind 1, no entries; a size of 2^40; the same of the frontier; its one peak.
  std::vector<std::byte> large(8 + 8 + 8 + 32);
  large[0] = std::byte{1};
  large[1] = std::byte{1};
  large[8 + 5] = std::byte{1};
  large[16 + 5] = std::byte{1};
  std::vector<std::byte> state;
  kept.toy.serialize(ShardId{1}, state);
  large.insert(large.end(), state.begin(), state.end());
  EXPECT_FALSE(kept.service().plausible(ShardId{1}, large));
  EXPECT_FALSE(kept.service().install(ShardId{1}, large).ok());
  large[8 + 5] = large[16 + 5] = std::byte{0};
  large[8 + 4] = large[16 + 4] = std::byte{128};  // 2^39.
  EXPECT_TRUE(kept.service().plausible(ShardId{1}, large));
}

TEST(LedgerService, WhatIsNoSnapshotIsRefusedWhateverItSays) {
  ledger::HistoryMedium medium;
  Kept source(medium);
  for (std::uint64_t index = 1; index <= 7; ++index) {
    source.apply(index, "entry " + std::to_string(index));
  }
  std::vector<std::byte> bytes;
  source.service().serialize(ShardId{1}, bytes);
  ledger::HistoryMedium other_medium;
  Kept other(other_medium);
  std::vector<std::byte> state;
  source.toy.serialize(ShardId{1}, state);
  for (std::size_t length = 1; length < bytes.size() - state.size(); ++length) {
    EXPECT_FALSE(other.service().plausible(ShardId{1}, std::span{bytes}.first(length))) << length;
  }
  for (std::uint64_t choice = 0; choice < 2000; ++choice) {
    std::vector<std::byte> changed = bytes;
    changed[mix64(choice) % 64] ^= static_cast<std::byte>(1u << (choice % 8));
    if (other.service().plausible(ShardId{1}, changed)) {
      Kept victim(other_medium);
      EXPECT_TRUE(victim.service().install(ShardId{1}, changed).ok()) << choice;
    }
  }
}

TEST(LedgerService, ACheckpointThatHistoryDoesNotReachIsDataLoss) {
  ledger::HistoryMedium medium;
  std::vector<std::byte> bytes;
  {
    Kept kept(medium);
    kept.apply(1, "a");
    kept.service().checkpoint(ShardId{1}, bytes);
    ASSERT_TRUE(kept.history->settle().ok());
  }
  {
    Kept kept(medium);
    ASSERT_TRUE(kept.service().install(ShardId{1}, bytes).ok());
    kept.history->recovered();
    EXPECT_TRUE(kept.history->end_turn(true).ok());
  }
  medium.values.clear();
  Kept kept(medium);
  ASSERT_TRUE(kept.service().install(ShardId{1}, bytes).ok());
  kept.history->recovered();
  EXPECT_EQ(kept.history->end_turn(true).detail(), ledger::kHistoryGap);
}

TEST(LedgerService, ASaveOfTheNewestCheckpointFindsItsTreeThoughHistoryIsPruned) {
  ledger::HistoryMedium medium;
  Kept kept(medium, ledger::StorageDriver::Owner, {.entries = 1});
  std::vector<std::byte> bytes;
  for (std::uint64_t index = 1; index <= 2000; ++index) {
    kept.apply(index, "entry " + std::to_string(index));
    if (index == 600 || index == 901) {
      kept.service().checkpoint(ShardId{1}, bytes);
    }
  }
  ASSERT_TRUE(kept.history->end_turn(true).ok());
  kept.history->worker().keep();
  ASSERT_TRUE(kept.history->settle().ok());
  const auto& history = *kept.history->worker().history();
  EXPECT_EQ(history.first(ShardId{1}), 512u);
  EXPECT_TRUE(ledger::snapshot_frontier(*history.reader(ShardId{1}), 901).ok());
}

// What a node's opening waits for (node.cc), and what --rejoin replaces a directory for.
TEST(LedgerService, SettlingAfterRecoveryTellsThatHistoryIsLost) {
  ledger::HistoryMedium medium;
  std::vector<std::byte> bytes;
  {
    Kept kept(medium);
    kept.apply(1, "a");
    kept.service().checkpoint(ShardId{1}, bytes);
    ASSERT_TRUE(kept.history->settle().ok());
  }
  medium.values.clear();
  Kept kept(medium, ledger::StorageDriver::Thread);
  ASSERT_TRUE(kept.service().install(ShardId{1}, bytes).ok());
  kept.history->recovered();
  const Status settled = kept.history->settle();
  EXPECT_EQ(settled.detail(), ledger::kHistoryGap);
  EXPECT_TRUE(ledger::is_rot(settled.detail()));
}

TEST(LedgerService, AnEntryThatDoesNotFollowStopsTheNode) {
  ledger::HistoryMedium medium;
  Kept kept(medium);
  kept.apply(2, "without the first");
  EXPECT_EQ(kept.history->end_turn(true).detail(), ledger::kHistoryGap);
  EXPECT_TRUE(kept.toy.commands(ShardId{1}).empty());
}

}  // namespace
}  // namespace gcoord::server
