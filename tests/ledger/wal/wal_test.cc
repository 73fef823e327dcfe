#include "ledger/wal/wal.h"

#include "ledger/base/error_details.h"
#include "ledger/disk/memory_disk.h"
#include "tests/ledger/replay_log.h"
#include "tests/ledger/wal/opened_wal.h"

#include <gtest/gtest.h>

#include <functional>

namespace gcoord::ledger {
namespace {

TEST(Wal, ReplaysWhatWasAppendedInOrder) {
  MemoryDisk disk;
  {
    Opened first{disk};
    append_synced(*first, 1, 3);
    EXPECT_EQ(first->last_lsn(), Lsn{3});
  }
  Opened second{disk};
  expect_records(second.log, 1, 3);
  EXPECT_EQ(second.log.records().at(2), text_of(batch_of(2)));
  EXPECT_EQ(second.report.outcome, WalOutcome::Clean);
  EXPECT_EQ(second.report.repaired_count, 0u);
}

TEST(Wal, NumbersRiseOverRestarts) {
  MemoryDisk disk;
  append_synced(*Opened{disk}, 1, 2);
  Opened second{disk};
  EXPECT_EQ(second->append(batch_of(3)).value(), Lsn{3});
  ASSERT_TRUE(second->sync().ok());
  Opened third{disk};
  expect_records(third.log, 1, 3);
}

TEST(Wal, DurableLsnFollowsTheSync) {
  MemoryDisk disk;
  Opened opened{disk};
  ASSERT_TRUE(opened->append(batch_of(1)).ok());
  ASSERT_TRUE(opened->append(batch_of(2)).ok());
  EXPECT_EQ(opened->durable_lsn(), Lsn{0});
  ASSERT_TRUE(opened->sync().ok());
  EXPECT_EQ(opened->durable_lsn(), Lsn{2});
}

TEST(Wal, OneSyncPersistsATurn) {
  MemoryDisk disk;
  Opened opened{disk};
  const std::uint64_t before = disk.sync_count();
  append_synced(*opened, 1, 1);
  EXPECT_EQ(disk.sync_count(), before + 1);
}

TEST(Wal, SealingCostsOneSyncAndOnlyOnce) {
  MemoryDisk disk;
  Opened opened{disk};
  append_synced(*opened, 1, 1);
  const std::uint64_t before = disk.sync_count();
  ASSERT_TRUE(opened->seal().ok());
  ASSERT_TRUE(opened->seal().ok());
  EXPECT_EQ(disk.sync_count(), before + 1);
}

TEST(Wal, RollsToTheNextSegmentWhenOneIsFull) {
  MemoryDisk disk;
  {
    Opened opened{disk};
    append_synced(*opened, 1, 100, 2000);
    EXPECT_GT(opened->segment_count(), 3u);
  }
  Opened again{disk};
  expect_records(again.log, 1, 100);
  EXPECT_EQ(again.report.outcome, WalOutcome::Clean);
  EXPECT_EQ(again.report.repaired_count, 0u);
}

TEST(Wal, KeepsARecordLargerThanASegment) {
  MemoryDisk disk;
  {
    Opened opened{disk};
    append_synced(*opened, 1, 1);
    append_synced(*opened, 2, 2, 300'000);
    append_synced(*opened, 3, 3);
  }
  Opened again{disk};
  expect_records(again.log, 1, 3);
  EXPECT_EQ(again.log.records().at(2), text_of(batch_of(2, 300'000)));
}

TEST(Wal, DropsWholeSegmentsThatACheckpointCovers) {
  MemoryDisk disk;
  WalOptions options = small_log();
  std::size_t count = 0;
  {
    Opened opened{disk};
    append_synced(*opened, 1, 100, 2000);
    count = opened->segment_count();
    ASSERT_TRUE(opened->drop_through(Lsn{60}).ok());
    EXPECT_LT(opened->segment_count(), count);
    ASSERT_TRUE(opened->drop_through(Lsn{1000}).ok());
    EXPECT_EQ(opened->segment_count(), 1u);
  }
  options.replay_after = Lsn{98};
  Opened again{disk, options};
  expect_records(again.log, 99, 100);
}

TEST(Wal, ACrashBetweenCheckpointAndDropReplaysOnlyTheRest) {
  MemoryDisk disk;
  append_synced(*Opened{disk}, 1, 100, 2000);
  WalOptions options = small_log();
  options.replay_after = Lsn{90};
  Opened again{disk, options};
  expect_records(again.log, 91, 100);
  EXPECT_EQ(again.report.record_count, 100u);
  EXPECT_EQ(again.report.replayed_count, 10u);
}

TEST(Wal, ALogThatEndsBeforeTheCheckpointIsALoss) {
  MemoryDisk disk;
  append_synced(*Opened{disk}, 1, 5);
  WalOptions options = small_log();
  options.replay_after = Lsn{6};
  Opened again{disk, options};
  EXPECT_EQ(again.wal.status().detail(), kWalBehind);
}

TEST(Wal, AMissingLogIsALossWhereOneMustBe) {
  MemoryDisk disk;
  WalOptions options = small_log();
  options.on_absence = WalAbsence::Refuse;
  Opened opened{disk, options};
  EXPECT_EQ(opened.wal.status().code(), StatusCode::DataLoss);
  EXPECT_EQ(opened.wal.status().detail(), kWalAbsent);
}

TEST(Wal, RefusesTheLogOfAnotherClusterOrNode) {
  MemoryDisk disk;
  append_synced(*Opened{disk}, 1, 1);
  WalOptions other_cluster = small_log();
  other_cluster.cluster = ClusterId{78};
  EXPECT_EQ((Opened{disk, other_cluster}.wal.status().detail()), kWalForeign);
  WalOptions other_node = small_log();
  other_node.node = NodeId{4};
  EXPECT_EQ((Opened{disk, other_node}.wal.status().code()), StatusCode::FailedPrecondition);
}

TEST(Wal, AFailedSyncIsFinal) {
  MemoryDisk disk;
  Opened opened{disk};
  append_synced(*opened, 1, 1);
  ASSERT_TRUE(opened->append(batch_of(2)).ok());
  disk.fail_syncs(true);
  EXPECT_EQ(opened->sync().detail(), kDiskSyncFailed);
  disk.fail_syncs(false);
  EXPECT_EQ(opened->sync().detail(), kDiskSyncFailed);
  EXPECT_EQ(opened->append(batch_of(3)).status().detail(), kDiskSyncFailed);
  EXPECT_EQ(opened->seal().detail(), kDiskSyncFailed);
  EXPECT_EQ(opened->drop_through(Lsn{1}).detail(), kDiskSyncFailed);
  EXPECT_EQ(opened->durable_lsn(), Lsn{1});
}

TEST(Wal, AfterAFailedSyncRecoveryReadsTheDiskAndNotTheCache) {
  MemoryDisk disk;
  {
    Opened opened{disk};
    append_synced(*opened, 1, 1);
    ASSERT_TRUE(opened->append(batch_of(2)).ok());
    disk.fail_syncs(true);
    ASSERT_FALSE(opened->sync().ok());
    disk.fail_syncs(false);
  }
  disk.crash();
  Opened again{disk};
  expect_records(again.log, 1, 1);
}

TEST(Wal, AFailedWriteIsFinal) {
  MemoryDisk disk;
  Opened opened{disk};
  disk.fail_writes(true);
  EXPECT_EQ(opened->append(batch_of(1)).status().detail(), kDiskWriteFailed);
  disk.fail_writes(false);
  EXPECT_EQ(opened->append(batch_of(1)).status().detail(), kDiskWriteFailed);
}

TEST(Wal, AFullDiskIsTypedAndTheNextLifeGoesOnWhenSpaceIsFreed) {
  MemoryDisk disk;
  std::uint64_t written = 0;
  {
    Opened opened{disk};
    disk.set_capacity_bytes(3 * small_log().segment_bytes);
    Status failure;
    while (failure.ok()) {
      failure = opened->append(batch_of(written + 1, 2000)).status();
      if (failure.ok()) {
        failure = opened->sync();
        ++written;
      }
    }
    EXPECT_EQ(failure.code(), StatusCode::ResourceExhausted);
    EXPECT_EQ(failure.detail(), kDiskFull);
    EXPECT_EQ(opened->append(batch_of(1)).status().detail(), kDiskFull);
  }
  disk.crash();
  disk.set_capacity_bytes(~std::uint64_t{0});
  Opened again{disk};
  expect_records(again.log, 1, written);
  append_synced(*again, written + 1, written + 20, 2000);
}

// Room that the test grants.
class GrantedRoom final : public DiskRoom {
 public:
  bool has(std::uint64_t) override { return false; }

  bool await_after_refusal() override {
    ++refusals;
    return on_refusal && on_refusal();
  }

  Result<std::uint64_t> await_room(const RoomWish& wish) override {
    if (!granted) {
      return Status{StatusCode::Aborted, "no room", kDiskFull};
    }
    const std::uint64_t given = little ? wish.least_bytes : wish.wanted_bytes;
    awaited += given;
    return given;
  }

  std::uint64_t awaited = 0;
  int refusals = 0;
  std::function<bool()> on_refusal;  // Empty: nobody waits.
  bool granted = true;
  bool little = false;  // No more than somebody cannot do without.
};

TEST(Wal, WhereThereIsNoRoomForASegmentItGoesOnInShortOnes) {
  MemoryDisk disk;
  GrantedRoom room;
  WalOptions options = small_log();
  options.segment_bytes = 4 * kShortSegmentBytes;
  options.room = &room;
  constexpr std::size_t kPayload = 200'000;
  std::uint64_t number = 0;
  {
    Opened opened{disk, options};
    room.little = true;
    for (; opened->segment_count() < 4; ++number) {
      append_synced(*opened, number + 1, number + 1, kPayload);
    }
    // One record that is larger than a short segment, and then an ordinary one again.
    append_synced(*opened, number + 1, number + 1, 2 * kShortSegmentBytes);
    ++number;
    room.little = false;
    for (const std::size_t before = opened->segment_count(); opened->segment_count() == before;) {
      ++number;
      append_synced(*opened, number, number, kPayload);
    }
  }
  EXPECT_EQ(disk.open(segment_name(1)).value()->size_bytes().value(), options.segment_bytes);
  EXPECT_EQ(disk.open(segment_name(2)).value()->size_bytes().value(), kShortSegmentBytes);
  EXPECT_EQ(disk.open(segment_name(4)).value()->size_bytes().value(), kShortSegmentBytes);
  EXPECT_GT(disk.open(segment_name(5)).value()->size_bytes().value(), 2 * kShortSegmentBytes);
  EXPECT_EQ(disk.open(segment_name(6)).value()->size_bytes().value(), options.segment_bytes);
  Opened again{disk, options};
  expect_records(again.log, 1, number);
  EXPECT_EQ(again.report.repaired_count, 0u);
}

TEST(Wal, MakesNoSegmentAheadWithoutRoomAndWaitsForTheOneThatItNeeds) {
  MemoryDisk disk;
  GrantedRoom room;
  WalOptions options = small_log();
  options.room = &room;
  Opened opened{disk, options};
  std::uint64_t number = 1;
  for (; opened->segment_count() < 2; ++number) {
    append_synced(*opened, number, number, 2000);
    EXPECT_FALSE(disk.exists("wal-spare.tmp").value());
  }
  EXPECT_EQ(room.awaited, 2 * options.segment_bytes);
  room.granted = false;
  Status failure;
  for (; failure.ok(); ++number) {
    failure = opened->append(batch_of(number, 2000)).status();
  }
  EXPECT_EQ(failure.code(), StatusCode::Aborted);
  EXPECT_EQ(opened->segment_count(), 2u);
}

// The log failed, and the node ended.
TEST(Wal, ASegmentWhoseRoomAnotherProgramTookIsMadeAgain) {
  MemoryDisk disk;
  GrantedRoom room;
  WalOptions options = small_log();
  options.room = &room;
  std::uint64_t number = 0;
  {
    Opened opened{disk, options};
    disk.set_capacity_bytes(1);
    room.on_refusal = [&] {
      disk.set_capacity_bytes(room.refusals < 3 ? 1 : std::uint64_t{1} << 30);
      return true;
    };
    while (opened->segment_count() < 3 && number < 1000) {
      ++number;
      append_synced(*opened, number, number, 2000);
    }
  }
  EXPECT_EQ(room.refusals, 3);
  Opened again{disk, options};
  expect_records(again.log, 1, number);
}

TEST(Wal, LeftoversOfASpareSegmentAreRemoved) {
  MemoryDisk disk;
  append_synced(*Opened{disk}, 1, 15, 2000);
  EXPECT_TRUE(disk.exists("wal-spare.tmp").value());
  Opened again{disk};
  EXPECT_FALSE(disk.exists("wal-spare.tmp").value());
}

TEST(Wal, APayloadThatImitatesARecordIsNotTakenForOne) {
  MemoryDisk disk;
  {
    Opened opened{disk};
    append_synced(*opened, 1, 1);
  }
  // The very bytes of record 1, as a client that could see them would send them, page after page.
  const auto image = disk.image(segment_name(1));
  std::string payload;
  for (int copy = 0; copy < 8; ++copy) {
    payload.append(reinterpret_cast<const char*>(image.data()) + kRecordsOffset, kSectorBytes);
  }
  WalBatch batch;
  batch.begin_entries(ShardId{1}, LogIndex{1}, 1);
  batch.entry(Term{1}, 0, bytes_of(payload));
  {
    Opened opened{disk};
    ASSERT_TRUE(opened->append(batch).ok());
    ASSERT_TRUE(opened->sync().ok());
  }
  Opened again{disk};
  expect_records(again.log, 1, 2);
}

}  // namespace
}  // namespace gcoord::ledger
