// The history of shards: what is kept is what was appended, whatever happens in between.
#include "ledger/history/history.h"

#include "ledger/base/error_details.h"
#include "tests/ledger/history/history_world.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gcoord::ledger {
namespace {

TEST(History, ATreeIsTheSameFromMemoryAndFromTheStore) {
  HistoryWorld world(3);
  for (std::uint64_t index = 0; index < 1500; index += 100) {
    ASSERT_TRUE(world.append(1, index, 100).ok());
    world.expect_as_model(1);
  }
  ASSERT_TRUE(world.append(2, 0, 1).ok());
  ASSERT_TRUE(world.history->flush().ok());
  world.expect_as_model(1);
  world.reopen();
  world.expect_as_model(1);
  world.expect_as_model(2);
  EXPECT_EQ(world.history->size(ShardId{0}), 0u);
}

// Any batches of any shards, flushes and crashes in between; after a crash the log of record tells
// again what was not flushed, and perhaps more.
RC_GTEST_PROP(History, WhatIsToldAgainAfterACrashChangesNothing, ()) {
  constexpr std::uint32_t kShards = 4;
  HistoryWorld world(kShards);
  const int rounds = *rc::gen::inRange(1, 20);
  for (int round = 0; round < rounds; ++round) {
    const auto shard = *rc::gen::inRange<std::uint32_t>(0, kShards);
    const std::uint64_t size = world.history->size(ShardId{shard});
    RC_ASSERT(world.append(shard, size, *rc::gen::inRange<std::uint64_t>(1, 700)).ok());
    if (*rc::gen::inRange(0, 3) == 0) {
      RC_ASSERT(world.history->flush().ok());
    }
    if (*rc::gen::inRange(0, 4) == 0) {
      world.reopen();
      for (std::uint32_t each = 0; each < kShards; ++each) {
        const std::uint64_t kept = world.history->size(ShardId{each});
        const std::uint64_t from = *rc::gen::inRange<std::uint64_t>(0, kept + 1);
        const std::uint64_t end = world.models[each]->size();
        if (end > from) {
          RC_ASSERT(world.append(each, from, end - from).ok());
        }
      }
    }
  }
  for (std::uint32_t each = 0; each < kShards; ++each) {
    world.expect_as_model(each);
  }
  RC_ASSERT(!testing::Test::HasFailure());
}

TEST(History, AnEntryWithoutItsPredecessorIsDataLoss) {
  HistoryWorld world(1);
  ASSERT_TRUE(world.append(0, 0, 10).ok());
  const Status status = world.append(0, 12, 1);
  EXPECT_EQ(status.code(), StatusCode::DataLoss);
  EXPECT_EQ(status.detail(), kHistoryGap);
  const std::vector<std::uint64_t> applied = {11};
  EXPECT_EQ(world.history->align(applied).detail(), kHistoryGap);
}

// A turn's entries of several shards lie in one batch as they were decided, and after a crash some
// of them may come again: the batch of a shard that goes on is as good beside them.
TEST(History, ABatchMixesShardsThatGoOnWithEntriesThatComeAgain) {
  HistoryWorld world(3);
  ASSERT_TRUE(world.append(0, 0, 5).ok());
  ASSERT_TRUE(world.append(2, 0, 3).ok());
  const std::uint64_t before = world.history->entry_bytes();
  std::uint64_t added = 0;
  auto batch = std::make_shared<HistoryEntries>();
  const auto add = [&](std::uint32_t shard, std::uint64_t index) {
    const auto bytes = entry_bytes_of(shard, index);
    batch->add(ShardId{shard}, index, bytes);
    if (index == world.models[shard]->size()) {
      world.models[shard]->append(bytes);
      added += bytes.size();
    }
  };
  for (std::uint64_t k = 0; k < 4; ++k) {
    add(2, 3 + k);  // Goes on.
    add(0, 3 + k);  // Comes again, then goes on.
    add(1, k);      // Begins.
  }
  ASSERT_TRUE(world.history->append(batch).ok());
  EXPECT_EQ(world.history->entry_bytes(), before + added);
  EXPECT_EQ(world.history->counts().repeated, 2u);
  EXPECT_EQ(world.history->counts().hashed, 8u + 10u);
  for (std::uint32_t shard = 0; shard < 3; ++shard) {
    world.expect_as_model(shard);
  }
  EXPECT_EQ(world.history->size(ShardId{0}), 7u);
  EXPECT_EQ(world.history->size(ShardId{1}), 4u);
  EXPECT_EQ(world.history->size(ShardId{2}), 7u);
}

// An index that is missing in one shard is found among others that go on.
TEST(History, AGapInOneShardOfABatchStopsTheWholeBatch) {
  HistoryWorld world(2);
  auto batch = std::make_shared<HistoryEntries>();
  batch->add(ShardId{0}, 0, entry_bytes_of(0, 0));
  batch->add(ShardId{1}, 0, entry_bytes_of(1, 0));
  batch->add(ShardId{0}, 1, entry_bytes_of(0, 1));
  batch->add(ShardId{1}, 2, entry_bytes_of(1, 2));
  EXPECT_EQ(world.history->append(batch).detail(), kHistoryGap);
  EXPECT_EQ(world.history->size(ShardId{0}), 0u);
  EXPECT_EQ(world.history->size(ShardId{1}), 0u);
}

// In memory mode a decision may be lost with all who knew it, and another take its place.
TEST(History, InMemoryModeAnotherDecisionTakesTheTreeBack) {
  HistoryWorld world(1, false);
  ASSERT_TRUE(world.append(0, 0, 700).ok());
  ASSERT_TRUE(world.history->flush().ok());
  world.reopen();
  MemoryTree model;
  for (std::uint64_t index = 0; index < 600; ++index) {
    model.append(entry_bytes_of(0, index));
  }
  auto batch = std::make_shared<HistoryEntries>();
  for (std::uint64_t index = 600; index < 650; ++index) {
    batch->add(ShardId{0}, index, entry_bytes_of(9, index));
    model.append(entry_bytes_of(9, index));
  }
  ASSERT_TRUE(world.history->append(batch).ok());
  ASSERT_TRUE(world.history->flush().ok());
  for (int life = 0; life < 2; ++life) {
    const auto reader = world.history->reader(ShardId{0});
    ASSERT_EQ(reader->size(), 650u);
    EXPECT_EQ(root_at(*reader, 650).value(), root_at(model, 650).value());
    EXPECT_EQ(reader->entries(640, 1).value().front(), entry_bytes_of(9, 640));
    world.reopen();
  }
  const std::vector<std::uint64_t> applied = {600};
  ASSERT_TRUE(world.history->align(applied).ok());
  EXPECT_EQ(root_at(*world.history->reader(ShardId{0}), 600).value(), root_at(model, 600).value());
}

// A follower that got a snapshot has the frontier and nothing before it.
TEST(History, AHistoryThatBeginsWithAFrontierHasEverybodysRoots) {
  for (const std::uint64_t size : {1u, 255u, 256u, 1000u, 66000u}) {
    HistoryWorld source(1);
    ASSERT_TRUE(source.append(0, 0, std::min<std::uint64_t>(size, 8000)).ok());
    for (std::uint64_t at = 8000; at < size; at += 8000) {
      ASSERT_TRUE(source.append(0, at, std::min<std::uint64_t>(size - at, 8000)).ok());
    }
    const std::uint32_t shard = 0;
    const MerkleFrontier frontier = source.history->frontiers({&shard, 1}).value().front();
    HistoryWorld world(1);
    ASSERT_TRUE(world.history->begin_at(ShardId{0}, frontier).ok());
    for (std::uint64_t index = 0; index < size; ++index) {
      world.models[0]->append(entry_bytes_of(0, index));
    }
    EXPECT_EQ(world.history->first(ShardId{0}), size);
    ASSERT_TRUE(world.append(0, size, 700).ok());
    world.expect_as_model(0);
    ASSERT_TRUE(world.history->flush().ok());
    world.reopen();
    world.expect_as_model(0);
    const auto reader = world.history->reader(ShardId{0});
    EXPECT_EQ(reader->entries(size - 1, 1).status().detail(), kLedgerPruned);
    const auto proof = consistency_proof(*reader, size, size + 700);
    ASSERT_TRUE(proof.ok()) << size << ": " << proof.status().message();
    EXPECT_TRUE(verify_consistency({size,
                                    size + 700,
                                    root_at(*world.models[0], size).value(),
                                    root_at(*world.models[0], size + 700).value()},
                                   proof.value())
                    .ok());
  }
}

TEST(History, WhatIsKeptAfterPruningProvesAgainstOldAndNewRoots) {
  constexpr std::uint64_t kSize = 70'000;
  HistoryWorld world(2);
  for (std::uint64_t at = 0; at < kSize; at += 7000) {
    ASSERT_TRUE(world.append(0, at, 7000).ok());
  }
  ASSERT_TRUE(world.append(1, 0, 300).ok());
  ASSERT_TRUE(world.history->flush().ok());
  const std::uint64_t before_bytes = world.store->disk_bytes();
  for (const std::uint64_t first : {1000u, 65'536u, 69'000u}) {
    const std::uint64_t tile = first / kTileThings * kTileThings;
    world.history->prune(ShardId{0}, first);
    ASSERT_TRUE(world.history->flush().ok());
    world.store->reclaim();
    world.reopen();
    const auto reader = world.history->reader(ShardId{0});
    ASSERT_EQ(reader->first(), tile);
    EXPECT_EQ(reader->entries(tile - 1, 1).status().detail(), kLedgerPruned);
    EXPECT_EQ(reader->hashes(0, tile - 1, 1).status().detail(), kLedgerPruned);
    for (std::uint64_t index = tile; index < kSize; index += 501) {
      HistoryWorld::expect_proved(*reader, *world.models[0], index, index + 1);
      HistoryWorld::expect_proved(*reader, *world.models[0], index, kSize);
    }
    EXPECT_TRUE(consistency_proof(*reader, tile, kSize).ok());
  }
  EXPECT_LT(world.store->disk_bytes(), before_bytes / 10);
  world.expect_as_model(1);
  ASSERT_TRUE(world.append(0, kSize, 1000).ok());
  world.expect_as_model(0);
}

// Any bit of any entry or node, wherever it is, is found when it is read, with its place.
TEST(History, AFlippedBitIsFoundWithShardAndIndex) {
  for (std::uint64_t choice = 0; choice < 400; choice += 7) {
    HistoryWorld world(3);
    ASSERT_TRUE(world.append(2, 0, 600).ok());
    ASSERT_TRUE(world.history->flush().ok());
    ASSERT_TRUE(world.medium.flip_bit("t", choice * 0x9e3779b97f4a7c15u >> 20));
    const auto reader = world.history->reader(ShardId{2});
    Status found = reader->hashes(8, 0, 2).status();
    for (std::uint64_t index = 0; index < 600 && found.ok(); index += 256) {
      const std::uint64_t count = std::min<std::uint64_t>(600 - index, 256);
      found = reader->hashes(0, index, count).status();
    }
    ASSERT_EQ(found.code(), StatusCode::DataLoss) << choice;
    EXPECT_EQ(found.detail(), kHistoryRot);
    EXPECT_NE(found.message().find("shard 2 "), std::string::npos) << found.message();
    EXPECT_NE(found.message().find("at index "), std::string::npos) << found.message();
  }
}

TEST(History, ADamagedHeadIsRefused) {
  HistoryWorld world(1);
  ASSERT_TRUE(world.append(0, 0, 3).ok());
  ASSERT_TRUE(world.history->flush().ok());
  ASSERT_TRUE(world.medium.flip_bit("h", 12345));
  const auto opened = History::open(HistoryOptions{}, make_cpu_merkle_device(), *world.store);
  EXPECT_EQ(opened.status().detail(), kHistoryRot);
}

TEST(History, RocksDbKeepsWhatMemoryKeeps) {
  const ScratchFolder directory;
  HistoryWorld world(2);
  HistoryOptions options;
  options.shard_count = 2;
  for (int life = 0; life < 3; ++life) {
    auto store = HistoryStore::open(directory.path("history"), 2);
    ASSERT_TRUE(store.ok()) << store.status().message();
    auto opened = History::open(options, make_cpu_merkle_device(), *store.value());
    ASSERT_TRUE(opened.ok());
    world.history = opened.value();
    const std::uint64_t size = world.history->size(ShardId{1});
    ASSERT_EQ(size, static_cast<std::uint64_t>(life) * 1000);
    ASSERT_TRUE(world.append(1, size, 1000).ok());
    ASSERT_TRUE(world.history->flush().ok());
    world.expect_as_model(1);
    world.history = nullptr;
  }
}

TEST(History, RocksDbLetsGoOfWhatIsPruned) {
  const ScratchFolder directory;
  HistoryWorld world(1);
  auto store = HistoryStore::open(directory.path("history"), 1);
  ASSERT_TRUE(store.ok());
  world.history = History::open(HistoryOptions{}, make_cpu_merkle_device(), *store.value()).value();
  for (std::uint64_t at = 0; at < 200'000; at += 8000) {
    ASSERT_TRUE(world.append(0, at, 8000).ok());
  }
  ASSERT_TRUE(world.history->flush().ok());
  const std::uint64_t before_bytes = store.value()->disk_bytes();
  world.history->prune(ShardId{0}, 199'000);
  ASSERT_TRUE(world.history->flush().ok());
  store.value()->reclaim();
  store.value() = nullptr;  // Ends or waits for what it was doing.
  store = HistoryStore::open(directory.path("history"), 1);
  ASSERT_TRUE(store.ok());
  world.history = History::open(HistoryOptions{}, make_cpu_merkle_device(), *store.value()).value();
  EXPECT_EQ(world.history->first(ShardId{0}), 199'000u / 256 * 256);
  EXPECT_GT(before_bytes, 0u);
  world.expect_as_model(0);
}

}  // namespace
}  // namespace gcoord::ledger
