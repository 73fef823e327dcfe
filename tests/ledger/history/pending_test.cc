#include "ledger/history/pending.h"

#include "ledger/history/flush.h"
#include "ledger/history/flush_writer.h"
#include "ledger/history/memory_store.h"
#include "tests/ledger/history/history_world.h"

#include <gtest/gtest.h>

#include <future>

namespace gcoord::ledger {
namespace {

std::shared_ptr<const HistoryEntries> batch_of(
    std::initializer_list<std::pair<std::uint32_t, std::uint64_t>> entries) {
  auto batch = std::make_shared<HistoryEntries>();
  for (const auto& [shard, index] : entries) {
    batch->add(ShardId{shard}, index, entry_bytes_of(shard, index));
  }
  return batch;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(HistoryPending, ItsEntriesComeByShardAndIndexWhateverBatchesTheyCameIn) {
  HistoryPending pending(4);
  pending.add(batch_of({{3, 7}, {1, 0}, {3, 8}}));
  pending.add(batch_of({{1, 1}, {0, 5}}));
  pending.add(batch_of({{3, 9}, {1, 2}}));
  std::string told;
  for (const HistoryPending::Entry& entry : pending.entries()) {
    told += std::to_string(entry.shard) + ":" + std::to_string(entry.index) + " ";
    EXPECT_EQ(text_of(entry.bytes), text_of(entry_bytes_of(entry.shard, entry.index)));
  }
  EXPECT_EQ(told, "0:5 1:0 1:1 1:2 3:7 3:8 3:9 ");
}

TEST(HistoryPending, HasNoEntriesBeforeAnyCame) {
  EXPECT_TRUE(HistoryPending(4).entries().empty());
}

// Takes writes and notes where their first value lies.
class NotingStore final : public HistoryStore {
 public:
  Status write(const HistoryBatch& batch) override {
    values.push_back(batch.change(0).value.data());
    return inner_->write(batch);
  }

  Status scan(const std::string& first,
              const std::string& end,
              const Visitor& visitor) const override {
    return inner_->scan(first, end, visitor);
  }

  std::unique_ptr<HistoryCursor> cursor() const override { return inner_->cursor(); }

  Result<std::optional<std::vector<std::byte>>> get(const std::string& key) const override {
    return inner_->get(key);
  }

  void set_horizon(ShardId shard, std::uint64_t first) override {
    inner_->set_horizon(shard, first);
  }

  void reclaim() override {}

  void release_memory() override { released.set_value(); }

  std::uint64_t disk_bytes() const override { return 0; }

  std::vector<const std::byte*> values;
  std::promise<void> released;

 private:
  HistoryMedium medium_;
  std::unique_ptr<HistoryStore> inner_ = open_memory_history_store(medium_);
};

// Of `shards` shards, each with the same `count` entries from `first` on.
struct FlushShape {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint32_t shards = 1;
  std::size_t write_bytes = HistoryBatching{}.write_bytes;
};

std::shared_ptr<HistoryFlush> flush_of(const FlushShape& shape) {
  auto batch = std::make_shared<HistoryEntries>();
  MerkleFrontier frontier;
  frontier.size = std::uint64_t{1} << 20;  // One peak.
  frontier.peaks.resize(1);
  std::vector<FlushedShard> flushed;
  for (std::uint32_t shard = 0; shard < shape.shards; ++shard) {
    for (std::uint64_t index = shape.first; index < shape.first + shape.count; ++index) {
      batch->add(ShardId{shard}, index, entry_bytes_of(shard, index));
    }
    flushed.push_back({.shard = ShardId{shard}, .frontier = frontier});
  }
  auto pending = std::make_shared<HistoryPending>(shape.shards);
  pending->add(batch);
  return std::make_shared<HistoryFlush>(pending, std::move(flushed), shape.write_bytes);
}

// Each write is a table of its own in the store.
TEST(HistoryFlush, IsAsManyWritesAsTheirSizeSays) {
  constexpr std::uint32_t kShards = 8;
  HistoryBatch batch;
  NotingStore store;
  ASSERT_TRUE(flush_of({.count = 100, .shards = kShards})->write(store, batch).ok());
  EXPECT_EQ(store.values.size(), 1u);
  NotingStore small;
  ASSERT_TRUE(
      flush_of({.count = 100, .shards = kShards, .write_bytes = 1})->write(small, batch).ok());
  EXPECT_EQ(small.values.size(), kShards) << "a shard is never in two writes";
}

// A busy node writes tens of megabytes a second, and pages that are touched first cost a third of
// it.
TEST(HistoryFlush, LendsItsMemoryToTheNextOne) {
  NotingStore store;
  HistoryBatch batch;
  ASSERT_TRUE(flush_of({.first = 1000, .count = 3000})->write(store, batch).ok());
  ASSERT_TRUE(batch.empty());
  ASSERT_TRUE(flush_of({.first = 4000, .count = 3000})->write(store, batch).ok());
  ASSERT_EQ(store.values.size(), 2u);
  EXPECT_EQ(store.values[0], store.values[1]);
}

TEST(HistoryBatch, WithRoomForItsValuesItNeverMovesThem) {
  HistoryBatch batch;
  batch.reserve(std::size_t{1} << 20);
  batch.begin_fragment({ShardId{0}, 0, 0});
  batch.add(entry_bytes_of(0, 0));
  const std::byte* first = batch.change(0).value.data();
  for (std::uint64_t index = 1; batch.size_bytes() < (std::size_t{1} << 20) - 100; ++index) {
    batch.add(entry_bytes_of(0, index));
  }
  EXPECT_EQ(batch.change(0).value.data(), first);
}

TEST(FlushWriter, GivesItsMemoryBackOnceNoFlushComes) {
  NotingStore store;
  FlushWriter writer(
      store, [] {}, std::chrono::milliseconds{1});
  const auto flush = flush_of({.first = 0, .count = 3});
  writer.begin(flush);
  ASSERT_TRUE(flush->wait().ok());
  store.released.get_future().wait();  // Once: a second time the promise would be set already.
}

}  // namespace
}  // namespace gcoord::ledger
