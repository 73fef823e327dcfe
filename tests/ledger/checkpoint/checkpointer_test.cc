#include "ledger/checkpoint/checkpointer.h"

#include "ledger/disk/memory_disk.h"
#include "tests/ledger/wal/opened_wal.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace gcoord::ledger {
namespace {

void await_event(int event_fd) {
  pollfd wait{event_fd, POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, -1), 1);
  std::uint64_t count = 0;
  ASSERT_EQ(::read(event_fd, &count, sizeof count), ssize_t{sizeof count});
}

TEST(Checkpointer, WritesTheBatchAndThenDropsTheSegmentsItCovers) {
  const ScratchFolder directory;
  const auto store = CheckpointStore::open(directory.path()).value();
  MemoryDisk disk;
  {
    Opened opened{disk};
    append_synced(*opened, 1, 100, 2000);
    WalWriter writer{std::move(opened.wal).value(), {}};
    MetricsRegistry registry;
    Checkpointer checkpointer{*store, &writer, {&registry}};
    CheckpointBatch batch;
    batch.put(CheckpointColumn::Hard, ShardId{1}, bytes_of("state"));
    batch.covers(Lsn{99});
    ASSERT_TRUE(checkpointer.submit(std::move(batch)));
    await_event(checkpointer.event_fd());
    const auto done = checkpointer.take_done();
    ASSERT_TRUE(done.has_value());
    EXPECT_TRUE(done->ok());
    EXPECT_FALSE(checkpointer.take_done().has_value());
    EXPECT_EQ(registry.counter({"gcoord_ledger_checkpoint_writes_total", "", "", ""}).value(), 1u);
  }
  EXPECT_EQ(store->covered_lsn(), Lsn{99});
  EXPECT_FALSE(disk.exists(segment_name(1)).value());
  WalOptions options = small_log();
  options.replay_after = store->covered_lsn();
  const Opened again{disk, options};
  expect_records(again.log, 100, 100);
}

TEST(Checkpointer, ItsEndFinishesTheBatchInHand) {
  const ScratchFolder directory;
  const auto store = CheckpointStore::open(directory.path()).value();
  MemoryDisk disk;
  Opened opened{disk};
  WalWriter writer{std::move(opened.wal).value(), {}};
  {
    Checkpointer checkpointer{*store, &writer, {}};
    CheckpointBatch batch;
    batch.put(CheckpointColumn::Hard, ShardId{1}, bytes_of("state"));
    ASSERT_TRUE(checkpointer.submit(std::move(batch)));
  }
  EXPECT_TRUE(store->get(CheckpointColumn::Hard, ShardId{1}).ok());
}

}  // namespace
}  // namespace gcoord::ledger
