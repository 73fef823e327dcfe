#include "ledger/wal/writer.h"

#include "ledger/base/error_details.h"
#include "ledger/disk/memory_disk.h"
#include "tests/ledger/gated_disk.h"
#include "tests/ledger/wal/opened_wal.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace gcoord::ledger {
namespace {

// Long enough that the writer seals only at its end.
constexpr std::chrono::milliseconds kNever{1'000'000};

void await_signal(const WalWriter& writer) {
  pollfd wait{writer.event_fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, -1), 1);
  std::uint64_t count = 0;
  ASSERT_EQ(::read(writer.event_fd(), &count, sizeof count), ssize_t{sizeof count});
}

void await_durable(const WalWriter& writer, Lsn lsn) {
  while (writer.durable_lsn() < lsn) {
    await_signal(writer);
  }
}

class WalWriterTest : public testing::Test {
 protected:
  WalWriterTest() : gated_(memory_) {}

  std::unique_ptr<WalWriter> start(WalWriterOptions options = {}) {
    Opened opened{gated_};
    EXPECT_TRUE(opened.wal.ok());
    return std::make_unique<WalWriter>(std::move(opened.wal).value(), std::move(options));
  }

  MemoryDisk memory_;
  GatedDisk gated_;
};

TEST_F(WalWriterTest, AnOwnerDecidesWhenTheDiskIsDone) {
  const auto writer = start({.seal_delay = kNever, .driver = StorageDriver::Owner});
  const Lsn lsn = writer->submit(batch_of(1));
  EXPECT_LT(writer->durable_lsn(), lsn);
  EXPECT_GT(writer->queued_bytes(), 0u);
  EXPECT_TRUE(writer->advance());
  EXPECT_EQ(writer->durable_lsn(), lsn);
  EXPECT_TRUE(writer->advance());   // The seal.
  EXPECT_FALSE(writer->advance());  // Nothing to do.
}

TEST_F(WalWriterTest, AnOwnersWriterTriesNothingAfterAFailure) {
  const auto writer = start({.seal_delay = kNever, .driver = StorageDriver::Owner});
  memory_.fail_syncs(true);
  const Lsn lsn = writer->submit(batch_of(1));
  EXPECT_FALSE(writer->advance());
  memory_.fail_syncs(false);
  EXPECT_FALSE(writer->advance());
  EXPECT_LT(writer->durable_lsn(), lsn);
  EXPECT_TRUE(writer->take_failure().has_value());
}

TEST_F(WalWriterTest, PersistsWhatIsSubmitted) {
  const auto writer = start({.seal_delay = kNever});
  const Lsn lsn = writer->submit(batch_of(1));
  EXPECT_EQ(lsn, Lsn{1});
  await_durable(*writer, lsn);
  EXPECT_FALSE(writer->take_failure().has_value());
}

TEST_F(WalWriterTest, WhatIsQueuedDuringASyncBecomesOneRecord) {
  auto writer = start({.seal_delay = kNever});
  gated_.gate().close();
  EXPECT_EQ(writer->submit(batch_of(1)), Lsn{1});
  gated_.gate().await_waiting();
  EXPECT_EQ(writer->submit(batch_of(2)), Lsn{2});
  EXPECT_EQ(writer->submit(batch_of(3)), Lsn{2});
  EXPECT_EQ(writer->submit(batch_of(4)), Lsn{2});
  EXPECT_EQ(writer->durable_lsn(), Lsn{0});
  EXPECT_GT(writer->queued_bytes(), 0u);
  gated_.gate().open();
  await_durable(*writer, Lsn{2});
  EXPECT_EQ(writer->queued_bytes(), 0u);
  EXPECT_EQ(writer->submit(batch_of(5)), Lsn{3});
  writer.reset();
  const Opened again{memory_};
  EXPECT_EQ(again.log.records().at(2),
            text_of(batch_of(2)) + text_of(batch_of(3)) + text_of(batch_of(4)));
  expect_records(again.log, 1, 3);
}

// A disk that stands still must not make one record that is too long for the format.
TEST_F(WalWriterTest, WhatIsTooMuchForOneRecordBecomesSeveral) {
  const auto writer = start({.seal_delay = kNever});
  gated_.gate().close();
  EXPECT_EQ(writer->submit(batch_of(1)), Lsn{1});
  gated_.gate().await_waiting();
  const std::vector<std::byte> state(std::size_t{40} << 20, std::byte{7});
  for (std::uint64_t k = 0; k < 3; ++k) {
    WalBatch batch;
    batch.snapshot_installed(ShardId{1}, LogIndex{10 + k}, Term{1}, state);
    EXPECT_EQ(writer->submit(std::move(batch)), Lsn{2 + k});
  }
  EXPECT_EQ(writer->submit(batch_of(2)), Lsn{4});
  EXPECT_GT(writer->queued_bytes(), 3 * state.size());
  gated_.gate().open();
  await_durable(*writer, Lsn{4});
  EXPECT_EQ(writer->queued_bytes(), 0u);
}

TEST_F(WalWriterTest, TheBatchComesBackEmpty) {
  const auto writer = start({.seal_delay = kNever});
  WalBatch batch = batch_of(1);
  writer->submit(std::move(batch));
  EXPECT_TRUE(batch.empty());  // NOLINT(bugprone-use-after-move): it is handed back.
}

TEST_F(WalWriterTest, ItsEndPersistsWhatWasSubmittedAndSeals) {
  auto writer = start({.seal_delay = kNever});
  writer->submit(batch_of(1));
  writer.reset();
  memory_.lose_power(1);
  auto image = memory_.image(segment_name(1));
  image[kRecordsOffset + 100] ^= std::byte{1};
  memory_.set_image(segment_name(1), image);
  EXPECT_EQ(Opened{memory_}.wal.status().detail(), kWalRot);
}

TEST_F(WalWriterTest, SealsWhenIdle) {
  const auto writer = start({.seal_delay = std::chrono::milliseconds{0}});
  const int before = gated_.gate().passed();
  writer->submit(batch_of(1));
  gated_.gate().await_passed(before +
                             2);  // The record's sync and, with nothing queued, the seal's.
}

TEST_F(WalWriterTest, AFailedSyncStopsItForEver) {
  auto writer = start({.seal_delay = kNever});
  await_durable(*writer, writer->submit(batch_of(1)));
  gated_.gate().close();
  writer->submit(batch_of(2));
  gated_.gate().await_waiting();
  memory_.fail_syncs(true);
  gated_.gate().open();
  await_signal(*writer);
  const auto failure = writer->take_failure();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->detail(), kDiskSyncFailed);
  EXPECT_FALSE(writer->take_failure().has_value());
  EXPECT_EQ(writer->durable_lsn(), Lsn{1});
  writer->submit(batch_of(3));
  writer.reset();
  memory_.fail_syncs(false);
  memory_.crash();
  const Opened again{memory_};
  expect_records(again.log, 1, 1);
}

TEST_F(WalWriterTest, DropsSegmentsWhenAsked) {
  MetricsRegistry registry;
  auto writer = start({.metrics = &registry, .seal_delay = kNever});
  const Gauge& segments = registry.gauge({"gcoord_ledger_wal_segments", "", "", ""});
  for (std::uint64_t number = 1; number <= 100; ++number) {
    await_durable(*writer, writer->submit(batch_of(number, 2000)));
  }
  const std::int64_t before = segments.value();
  EXPECT_GT(before, 3);
  writer->drop_through(Lsn{100});
  writer.reset();
  EXPECT_EQ(segments.value(), 1);
  EXPECT_EQ(registry.counter({"gcoord_ledger_wal_records_total", "", "", ""}).value(), 100u);
}

// Room that a disk in memory has, for the thread that writes there.
class RoomOfDisk final : public DiskRoom {
 public:
  explicit RoomOfDisk(MemoryDisk& disk) : disk_(disk) {}

  bool has(std::uint64_t) override { return false; }

  bool await_after_refusal() override { return !given_up; }

  Result<std::uint64_t> await_room(const RoomWish& wish) override {
    for (; !given_up; std::this_thread::yield()) {
      if (wish.meanwhile) {
        GCOORD_TRY_STATUS(wish.meanwhile());
      }
      if (disk_.space().value().free_bytes >= wish.wanted_bytes) {
        return wish.wanted_bytes;
      }
      ++looks;
    }
    return Status{StatusCode::Aborted, "given up", kDiskFull};
  }

  std::atomic<std::uint64_t> looks{0};  // That found too little.
  std::atomic<bool> given_up{false};

 private:
  MemoryDisk& disk_;
};

// The thread waited, and with it what would have made room.
TEST_F(WalWriterTest, OnAFullDiskItDropsWhatACheckpointCoversAndGoesOn) {
  RoomOfDisk room{memory_};
  WalOptions options = small_log();
  options.room = &room;
  memory_.set_capacity_bytes(3 * options.segment_bytes);
  Opened opened{memory_, options};
  ASSERT_TRUE(opened.wal.ok());
  WalWriter writer{std::move(opened.wal).value(), {.seal_delay = kNever}};
  Lsn last;
  while (room.looks == 0) {
    last = writer.submit(batch_of(last.value + 1, 2000));
    while (room.looks == 0 && writer.durable_lsn() < last) {
      std::this_thread::yield();
    }
  }
  const Lsn durable = writer.durable_lsn();
  EXPECT_LT(durable, last);
  writer.drop_through(durable);
  // For as long as a busy machine may take; then the thread is let go.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (writer.durable_lsn() < last && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_EQ(writer.durable_lsn(), last);
  room.given_up = true;
}

TEST_F(WalWriterTest, ManyThreadsSubmitAndEachFindsItsRecordsInItsOrder) {
  constexpr std::uint32_t kThreadCount = 4;
  constexpr std::uint64_t kBatchCount = 200;
  auto writer = start({.seal_delay = kNever});
  std::vector<std::thread> threads;
  for (std::uint32_t shard = 0; shard < kThreadCount; ++shard) {
    threads.emplace_back([&writer, shard] {
      for (std::uint64_t term = 1; term <= kBatchCount; ++term) {
        WalBatch batch;
        batch.hard_state(ShardId{shard}, Term{term}, NodeId{1});
        writer->submit(std::move(batch));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  writer.reset();

  class TermOrder final : public WalVisitor {
   public:
    void on_hard_state(ShardId shard, Term term, NodeId) override {
      EXPECT_EQ(term, last_[shard.value] + 1);
      last_[shard.value] = term;
    }

    void on_entries(ShardId, LogIndex, std::uint32_t) override {}

    void on_entry(ShardId, LogIndex, Term, std::uint8_t, std::span<const std::byte>) override {}

    void on_truncate(ShardId, LogIndex) override {}

    void on_snapshot_installed(ShardId, LogIndex, Term, std::span<const std::byte>) override {}

    std::array<Term, kThreadCount> last_{};
  };

  TermOrder order;
  ASSERT_TRUE(Wal::open(memory_, small_log(), order).ok());
  for (const Term last : order.last_) {
    EXPECT_EQ(last, Term{kBatchCount});
  }
}

}  // namespace
}  // namespace gcoord::ledger
