// A flush that is being written while history goes on: the store stands at a gate meanwhile.
#include "ledger/base/error_details.h"
#include "ledger/history/worker.h"
#include "tests/ledger/gated_disk.h"
#include "tests/ledger/history/history_world.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace gcoord::ledger {
namespace {

// Nothing reads or writes the medium while a write stands at the gate.
class GatedStore final : public HistoryStore {
 public:
  explicit GatedStore(HistoryMedium& medium) : inner_(open_memory_history_store(medium)) {}

  Status write(const HistoryBatch& batch) override {
    gate.pass();
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

  void reclaim() override { inner_->reclaim(); }

  std::uint64_t disk_bytes() const override { return inner_->disk_bytes(); }

  Gate gate;

 private:
  std::unique_ptr<HistoryStore> inner_;
};

constexpr std::size_t kPendingBytes = 16 << 10;

struct FlushBeside : testing::Test {
  FlushBeside() {
    HistoryOptions options{.shard_count = 2};
    options.batching.pending_bytes_max = kPendingBytes;
    history = History::open(options, make_cpu_merkle_device(), store).value();
    worker.emplace(history, HistoryWorkerOptions{});
  }

  ~FlushBeside() override { store.gate.open(); }

  // Returns when the entries are hashed.
  void append(std::uint32_t shard, std::uint64_t first, std::uint64_t count) {
    auto batch = std::make_shared<HistoryEntries>();
    for (std::uint64_t index = first; index < first + count; ++index) {
      batch->add(ShardId{shard}, index, entry_bytes_of(shard, index));
    }
    worker->append(batch);
    while (history->size(ShardId{shard}) < first + count && worker->failure().ok()) {
      std::this_thread::yield();
    }
  }

  // A flush of entries 0 to 599 of shard 1 stands at the gate.
  void begin_flush() {
    store.gate.close();
    append(1, 0, 600);
    ASSERT_GE(history->pending_bytes(), kPendingBytes);
    store.gate.await_waiting();
  }

  std::uint64_t stored(std::uint32_t shard) {
    return History::open({.shard_count = 2}, make_cpu_merkle_device(), store)
        .value()
        ->size(ShardId{shard});
  }

  HistoryMedium medium;
  GatedStore store{medium};
  std::shared_ptr<History> history;
  std::optional<HistoryWorker> worker;
};

TEST_F(FlushBeside, TreesGrowAndAllOfThemIsRead) {
  begin_flush();
  append(1, 600, 50);
  append(0, 0, 20);
  const auto tile = history->tile_entries(ShardId{1}, 2);
  ASSERT_TRUE(tile.ok());
  EXPECT_EQ(tile.value()[650 - 512 - 1], entry_bytes_of(1, 649)) << "what came meanwhile";
  EXPECT_EQ(tile.value()[0], entry_bytes_of(1, 512)) << "what is on its way";
  MemoryTree model;
  for (std::uint64_t index = 0; index < 650; ++index) {
    model.append(entry_bytes_of(1, index));
  }
  const ShardId shard{1};
  EXPECT_EQ(history->heads({&shard, 1}).value()[0].root, root_at(model, 650).value());
  EXPECT_EQ(root_at(*history->reader(shard), 600).value(), root_at(model, 600).value());
}

TEST_F(FlushBeside, WhoSettlesWaitsForWhatCameAfterItBegan) {
  begin_flush();
  append(1, 600, 50);
  auto settled = std::async(std::launch::async, [this] { return worker->settle(); });
  store.gate.open();
  ASSERT_TRUE(settled.get().ok());
  EXPECT_EQ(stored(1), 650u);
  EXPECT_EQ(history->counts().flushes, 2u);
  EXPECT_EQ(history->pending_bytes(), 0u);
}

// Neither is hashed twice or lost, and the shard's head never says what is not there.
TEST_F(FlushBeside, AShardThatBeginsAnewWaitsForTheFlush) {
  begin_flush();
  worker->forget(ShardId{1});
  store.gate.open();
  ASSERT_TRUE(worker->settle().ok());
  EXPECT_EQ(history->size(ShardId{1}), 0u);
  EXPECT_EQ(stored(1), 0u);
  append(1, 0, 3);
  ASSERT_TRUE(worker->settle().ok());
  EXPECT_EQ(stored(1), 3u);
}

TEST_F(FlushBeside, AFlushThatFailsIsHeardByAllWhoWait) {
  begin_flush();
  append(1, 600, 50);
  medium.writes_fail = true;
  auto settled = std::async(std::launch::async, [this] { return worker->settle(); });
  store.gate.open();
  EXPECT_EQ(settled.get().detail(), kHistoryFailed);
  EXPECT_EQ(worker->failure().detail(), kHistoryFailed);
  EXPECT_EQ(worker->settle().detail(), kHistoryFailed);
}

TEST_F(FlushBeside, WhatComesFasterThanItIsWrittenWaits) {
  begin_flush();
  auto batch = std::make_shared<HistoryEntries>();
  for (std::uint64_t index = 600; index < 1200; ++index) {
    batch->add(ShardId{1}, index, entry_bytes_of(1, index));
  }
  worker->append(batch);  // As much again: the next flush is due, and waits for this one.
  store.gate.open();
  ASSERT_TRUE(worker->settle().ok());
  EXPECT_EQ(stored(1), 1200u);
}

}  // namespace
}  // namespace gcoord::ledger
