// The thread that keeps history, and what it lets go of.
#include "ledger/history/worker.h"

#include "ledger/base/error_details.h"
#include "tests/ledger/history/history_world.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace gcoord::ledger {
namespace {

std::shared_ptr<const HistoryEntries> batch_of(std::uint32_t shard,
                                               std::uint64_t first,
                                               std::uint64_t count) {
  auto batch = std::make_shared<HistoryEntries>();
  for (std::uint64_t index = first; index < first + count; ++index) {
    batch->add(ShardId{shard}, index, entry_bytes_of(shard, index));
  }
  return batch;
}

TEST(HistoryWorker, WhatWasHandedOverIsDurableWhenItSettles) {
  HistoryWorld world(2);
  HistoryWorker worker(world.history, {});
  for (std::uint64_t at = 0; at < 5000; at += 50) {
    worker.append(batch_of(1, at, 50));
  }
  ASSERT_TRUE(worker.settle().ok());
  EXPECT_EQ(worker.appended(), 100u);
  EXPECT_EQ(worker.lag_entries(), 0u);
  const auto opened = History::open({.shard_count = 2}, make_cpu_merkle_device(), *world.store);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened.value()->size(ShardId{1}), 5000u);
}

TEST(HistoryWorker, AFailureOfTheStoreIsFinal) {
  HistoryWorld world(1);
  HistoryWorker worker(world.history, {});
  worker.append(batch_of(0, 0, 5));
  world.medium.writes_fail = true;
  EXPECT_EQ(worker.settle().detail(), kHistoryFailed);
  EXPECT_EQ(worker.failure().detail(), kHistoryFailed);
  world.medium.writes_fail = false;
  EXPECT_EQ(worker.settle().detail(), kHistoryFailed);
}

TEST(HistoryWorker, ItsOwnerDoesTheWorkWhereThereIsNoThread) {
  HistoryWorld world(1);
  HistoryWorker worker(world.history, {.driver = StorageDriver::Owner});
  worker.append(batch_of(0, 0, 5));
  EXPECT_EQ(world.history->size(ShardId{0}), 5u);
  worker.append(batch_of(0, 6, 1));
  EXPECT_EQ(worker.failure().detail(), kHistoryGap);
}

struct KeepCase {
  const char* policy;
  std::uint64_t first;  // After 10,000 entries, of which entry i says i ms.
};

class HistoryKeeping : public testing::TestWithParam<KeepCase> {};

TEST_P(HistoryKeeping, LetsGoOfWholeTilesBeyondTheBound) {
  HistoryWorld world(3);
  HistoryWorkerOptions options{.driver = StorageDriver::Owner};
  options.keep = parse_keep_policy(GetParam().policy).value();
  options.wall_ms = [] { return std::uint64_t{10'000}; };
  options.clues.entry_ms = [](std::span<const std::byte> entry) {
    const std::string text(reinterpret_cast<const char*>(entry.data()), entry.size());
    return std::stoull(text.substr(6));
  };
  HistoryWorker worker(world.history, options);
  for (std::uint64_t at = 0; at < 10'000; at += 1000) {
    worker.append(batch_of(1, at, 1000));
  }
  worker.append(batch_of(2, 0, 100));
  worker.keep();
  ASSERT_TRUE(worker.settle().ok());
  EXPECT_EQ(world.history->first(ShardId{1}), GetParam().first);
  EXPECT_EQ(world.history->first(ShardId{2}), 0u);
  EXPECT_EQ(world.history->counts().pruned, GetParam().first);
}

INSTANTIATE_TEST_SUITE_P(Policies,
                         HistoryKeeping,
                         testing::Values(KeepCase{"all", 0},
                                         KeepCase{"entries:1000", 8960},
                                         KeepCase{"entries:100000", 0},
                                         KeepCase{"age:2s", 7936},
                                         KeepCase{"age:1h", 0},
                                         KeepCase{"bytes:100KiB", 5120},
                                         KeepCase{"bytes:1GiB,age:2s,entries:1000", 8960}));

TEST(HistoryKeeping, WhatRecoveryMayNeedStays) {
  HistoryWorld world(1);
  HistoryWorkerOptions options{.driver = StorageDriver::Owner};
  options.keep.entries = 100;
  options.clues.floor = [](ShardId) { return std::uint64_t{300}; };
  HistoryWorker worker(world.history, options);
  worker.append(batch_of(0, 0, 5000));
  worker.keep();
  EXPECT_EQ(world.history->first(ShardId{0}), 256u);
}

TEST(HistoryKeeping, ABoundOfTheNodeTakesFromTheLargestShards) {
  HistoryWorld world(4);
  HistoryWorker worker(world.history, {.driver = StorageDriver::Owner});
  for (std::uint64_t at = 0; at < 10'000; at += 1000) {
    worker.append(batch_of(0, at, 1000));
    worker.append(batch_of(1, at / 2, 500));
    worker.append(batch_of(2, at / 10, 100));
  }
  const auto bytes = [&world](std::uint32_t shard) {
    return world.history->entry_bytes(ShardId{shard});
  };
  const std::uint64_t third = bytes(2);
  const std::uint64_t bytes_max = (bytes(0) + bytes(1) + third) / 2;
  std::uint64_t published = 2048;
  worker.bound({.bytes_max = bytes_max, .published = [&published](ShardId shard) {
                  return shard == ShardId{0} ? published : 100'000;
                }});
  worker.keep();
  EXPECT_EQ(world.history->first(ShardId{0}), 2048u);  // What is not published stays.
  published = 10'000;
  for (int round = 0; round < 3; ++round) {
    worker.keep();
  }
  ASSERT_TRUE(worker.settle().ok());
  EXPECT_GT(world.history->first(ShardId{1}), 0u);
  EXPECT_EQ(world.history->first(ShardId{2}), 0u);
  EXPECT_LT(bytes(0) + bytes(1) + bytes(2), bytes_max + bytes_max / 4);
  EXPECT_GT(bytes(0) + bytes(1) + bytes(2), bytes_max - bytes_max / 4);
}

std::uint64_t share(const std::vector<std::uint64_t>& bytes, std::uint64_t bytes_max) {
  return share_of_each({.total = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}),
                        .shard_count = static_cast<std::uint32_t>(bytes.size()),
                        .of = [&bytes](ShardId shard) { return bytes[shard.value]; }},
                       bytes_max);
}

TEST(NodeBound, TheLargestGiveUntilAllFit) {
  EXPECT_EQ(share({10, 20, 30}, 60), 0u);
  EXPECT_EQ(share({10, 20, 30}, 59), 29u);
  EXPECT_EQ(share({30, 10, 20}, 45), 17u);
  EXPECT_EQ(share({30, 10, 20}, 9), 3u);
  EXPECT_EQ(share({30, 10}, 1), 1u);
  EXPECT_EQ(share({}, 1), 0u);
}

// Every round copied and sorted the sizes of a million shards, however far below the bound.
TEST(NodeBound, LooksAtNoShardWhileAllTogetherFit) {
  int looks = 0;
  const NodeBytes bytes{.total = 3000, .shard_count = 3, .of = [&looks](ShardId) {
                          ++looks;
                          return std::uint64_t{1000};
                        }};
  EXPECT_EQ(share_of_each(bytes, 3000), 0u);
  EXPECT_EQ(looks, 0);
  EXPECT_EQ(share_of_each(bytes, 2999), 999u);
  EXPECT_EQ(looks, 3);
}

TEST(HistoryKeeping, TheBytesOfAllShardsAreThoseOfEach) {
  HistoryWorld world(3);
  const auto sum = [&world] {
    std::uint64_t bytes = 0;
    for (std::uint32_t shard = 0; shard < 3; ++shard) {
      bytes += world.history->entry_bytes(ShardId{shard});
    }
    return bytes;
  };
  {
    HistoryWorkerOptions options{.driver = StorageDriver::Owner};
    options.keep.entries = 600;
    HistoryWorker worker(world.history, options);
    worker.append(batch_of(0, 0, 2000));
    worker.append(batch_of(1, 0, 1500));
    worker.append(batch_of(2, 0, 700));
    EXPECT_EQ(world.history->entry_bytes(), sum());
    const std::uint64_t before = sum();
    worker.keep();
    EXPECT_LT(sum(), before);
    EXPECT_EQ(world.history->entry_bytes(), sum());
    worker.forget(ShardId{1});
    EXPECT_EQ(world.history->entry_bytes(ShardId{1}), 0u);
    EXPECT_EQ(world.history->entry_bytes(), sum());
    ASSERT_TRUE(worker.settle().ok());
  }
  const std::uint64_t kept = sum();
  world.reopen();
  EXPECT_EQ(world.history->entry_bytes(), kept);
  EXPECT_EQ(sum(), kept);
}

TEST(HistoryKeeping, PassesOverAShardThatCannotBeRead) {
  HistoryWorld world(2);
  HistoryWorkerOptions options{.driver = StorageDriver::Owner};
  options.keep.age_ms = 1;
  options.wall_ms = [] { return std::uint64_t{10'000}; };
  options.clues.entry_ms = [](std::span<const std::byte>) { return std::uint64_t{1}; };
  HistoryWorker worker(world.history, options);
  worker.append(batch_of(0, 0, 1000));
  worker.append(batch_of(1, 0, 1000));
  ASSERT_TRUE(worker.settle().ok());
  ASSERT_TRUE(world.medium.flip_bit(tile_key(ShardId{0}, 0, 0), 64 * 1234));
  ASSERT_EQ(world.history->tile_entries(ShardId{0}, 0).status().detail(), kHistoryRot);
  worker.keep();
  EXPECT_TRUE(worker.failure().ok()) << worker.failure().message();
  EXPECT_EQ(world.history->first(ShardId{0}), 0u);
  EXPECT_EQ(world.history->first(ShardId{1}), 768u);
}

struct PruneCase {
  PruneOrder order;
  std::uint64_t first;  // Of shard 1, after 10,000 entries of which entry i says i ms.
  std::uint64_t other;  // Of shard 2, after 1000.
};

class HistoryPrunes : public testing::TestWithParam<PruneCase> {};

TEST_P(HistoryPrunes, AsItIsToldAndSaysHowMuch) {
  HistoryWorld world(3);
  HistoryWorkerOptions options;
  options.wall_ms = [] { return std::uint64_t{10'000}; };
  options.clues.entry_ms = [](std::span<const std::byte> entry) {
    const std::string text(reinterpret_cast<const char*>(entry.data()), entry.size());
    return std::stoull(text.substr(6));
  };
  HistoryWorker worker(world.history, options);
  for (std::uint64_t at = 0; at < 10'000; at += 1000) {
    worker.append(batch_of(1, at, 1000));
  }
  worker.append(batch_of(2, 0, 1000));
  std::promise<void> told;
  const auto report = worker.prune(GetParam().order, [&told] { told.set_value(); }).get();
  ASSERT_TRUE(report.ok()) << report.status().message();
  told.get_future().wait();
  EXPECT_EQ(world.history->first(ShardId{1}), GetParam().first);
  EXPECT_EQ(world.history->first(ShardId{2}), GetParam().other);
  EXPECT_EQ(report.value().entries, GetParam().first + GetParam().other);
  EXPECT_EQ(report.value().shards, GetParam().order.shard ? 1u : 3u);
  // Durable: what is opened now begins there, and what is kept proves.
  const auto opened = History::open({.shard_count = 3}, make_cpu_merkle_device(), *world.store);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened.value()->first(ShardId{1}), GetParam().first);
  const auto reader = opened.value()->reader(ShardId{1});
  EXPECT_TRUE(inclusion_proof(*reader, GetParam().first, 10'000).ok());
  if (GetParam().first > 0) {
    EXPECT_EQ(reader->entries(GetParam().first - 1, 1).status().detail(), kLedgerPruned);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Orders,
    HistoryPrunes,
    testing::Values(PruneCase{{.shard = ShardId{1}, .below = 5000}, 4864, 0},
                    PruneCase{{.shard = ShardId{1}, .below = 99'999}, 9984, 0},
                    PruneCase{{.keep = {.entries = 500}}, 9472, 256},
                    PruneCase{{.keep = {.age_ms = 2000}}, 7936, 768},
                    PruneCase{{.shard = ShardId{1}, .keep = {.bytes = 100 << 10}}, 5120, 0},
                    PruneCase{
                        {.shard = ShardId{1}, .below = 9000, .keep = {.entries = 500}}, 9472, 0}));

TEST(HistoryPruning, StopsAtWhatRecoveryMayNeedAndAtWhatCannotBeRead) {
  HistoryWorld world(2);
  HistoryWorkerOptions options{.driver = StorageDriver::Owner};
  options.wall_ms = [] { return std::uint64_t{10'000}; };
  options.clues.entry_ms = [](std::span<const std::byte>) { return std::uint64_t{1}; };
  options.clues.floor = [](ShardId) { return std::uint64_t{600}; };
  HistoryWorker worker(world.history, options);
  worker.append(batch_of(0, 0, 2000));
  worker.append(batch_of(1, 0, 2000));
  ASSERT_TRUE(worker.settle().ok());
  ASSERT_TRUE(world.medium.flip_bit(tile_key(ShardId{0}, 0, 0), 64 * 1234));
  const auto report = worker.prune({.keep = {.age_ms = 1}}, [] {}).get();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().damaged, 1u);
  EXPECT_EQ(report.value().entries, 512u);
  EXPECT_EQ(world.history->first(ShardId{0}), 0u);
  EXPECT_EQ(world.history->first(ShardId{1}), 512u);
}

TEST(KeepPolicy, ReadsWhatItWritesAndRefusesTheRest) {
  for (const char* text :
       {"all", "entries:5", "bytes:3GiB", "age:7d", "entries:1,bytes:512,age:90s"}) {
    const auto policy = parse_keep_policy(text);
    ASSERT_TRUE(policy.ok()) << text;
    EXPECT_EQ(keep_policy_text(policy.value()), text);
  }
  EXPECT_EQ(parse_keep_policy("age:1h30m").value().age_ms, 5'400'000u);
  EXPECT_EQ(parse_keep_policy("age:1.5d").value(), parse_keep_policy("age:36h").value());
  for (const char* text : {"",
                           "some",
                           "entries:",
                           "entries:0",
                           "entries:-1",
                           "bytes:3GB",
                           "age:7",
                           "age:7d,",
                           "entries:1 ",
                           "age:99999999999999999999d",
                           "bytes:999999999999TiB"}) {
    EXPECT_FALSE(parse_keep_policy(text).ok()) << text;
  }
}

TEST(KeepPolicy, ABoundOfBytesIsANumberWithAUnitOrAll) {
  EXPECT_EQ(parse_bytes_max("all").value(), 0u);
  EXPECT_EQ(parse_bytes_max("3GiB").value(), std::uint64_t{3} << 30);
  EXPECT_EQ(parse_bytes_max("77").value(), 77u);
  for (const char* wrong : {"", "0", "3GB", "-1", "all,1", "99999999TiB"}) {
    EXPECT_FALSE(parse_bytes_max(wrong).ok()) << wrong;
  }
  EXPECT_EQ(bytes_max_text(0), "all");
  EXPECT_EQ(bytes_max_text(std::uint64_t{3} << 30), "3GiB");
}

}  // namespace
}  // namespace gcoord::ledger
