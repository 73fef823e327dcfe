// Damage planted in a log that was synced, and in one that was not: what recovery makes of it.
#include "ledger/wal/recovery.h"

#include "ledger/base/error_details.h"
#include "ledger/disk/memory_disk.h"
#include "ledger/wal/format.h"
#include "tests/ledger/replay_log.h"
#include "tests/ledger/wal/opened_wal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace gcoord::ledger {
namespace {

using Image = std::vector<std::byte>;

std::span<std::byte> sector_at(Image& image, std::uint64_t offset) {
  return std::span{image}.subspan(offset, kSectorBytes);
}

void zero(std::span<std::byte> bytes) {
  std::ranges::fill(bytes, std::byte{0});
}

// A log of record_count synced records, as a crash right after the last sync leaves it.
Image synced_image(std::uint64_t record_count,
                   std::size_t payload_bytes = 40,
                   std::uint64_t segment_bytes = small_log().segment_bytes) {
  MemoryDisk disk;
  WalOptions options = small_log();
  options.segment_bytes = segment_bytes;
  append_synced(*Opened{disk, options}, 1, record_count, payload_bytes);
  return disk.image(segment_name(1));
}

// Opens a log that consists of this one segment.
struct OpenedImage {
  MemoryDisk disk;
  std::unique_ptr<Opened> opened;

  explicit OpenedImage(const Image& image) {
    disk.set_image(segment_name(1), image);
    opened = std::make_unique<Opened>(disk);
  }

  const Status& status() const { return opened->wal.status(); }

  const WalRecovery& report() const { return opened->report; }
};

// Nothing wrong was replayed, and everything was replayed unless opening failed.
void expect_detected(const Image& damaged, std::uint64_t record_count, std::uint64_t where) {
  const OpenedImage result{damaged};
  for (const auto& [lsn, text] : result.opened->log.records()) {
    ASSERT_EQ(text, text_of(batch_of(lsn))) << "damage at " << where;
  }
  if (!result.status().ok()) {
    ASSERT_EQ(result.status().code(), StatusCode::DataLoss) << "damage at " << where;
    ASSERT_EQ(result.report().outcome, WalOutcome::Rot) << "damage at " << where;
    return;
  }
  ASSERT_EQ(result.opened->log.order().size(), record_count) << "damage at " << where;
  const bool noticed =
      result.report().outcome == WalOutcome::TornTail || result.report().repaired_count > 0;
  ASSERT_TRUE(noticed) << "damage at " << where;
}

TEST(WalRecovery, EveryFlippedBitOfASyncedLogIsDetected) {
  constexpr std::uint64_t kRecordCount = 9;
  const Image image = synced_image(kRecordCount, 40, 4 * kPageBytes);
  const std::uint64_t used_end = kRecordsOffset + (kRecordCount + 2) * kSectorBytes;
  Image damaged = image;
  // Every bit of what is used, and every seventh byte of the zeros behind it.
  for (std::uint64_t offset = 0; offset < image.size(); offset += offset < used_end ? 1 : 7) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      damaged[offset] ^= std::byte{static_cast<unsigned char>(1u << bit)};
      expect_detected(damaged, kRecordCount, offset);
      damaged[offset] = image[offset];
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

TEST(WalRecovery, AFlippedBitInARecordIsRotAndNamesTheRange) {
  Image image = synced_image(5);
  image[kRecordsOffset + 2 * kSectorBytes + 300] ^= std::byte{1};
  const OpenedImage result{image};
  EXPECT_EQ(result.status().detail(), kWalRot);
  EXPECT_EQ(result.report().segment_name, segment_name(1));
  EXPECT_EQ(result.report().offset, kRecordsOffset + 2 * kSectorBytes);
  EXPECT_EQ(result.report().lsn_first, Lsn{3});
  EXPECT_EQ(result.report().lsn_last, Lsn{5});
}

TEST(WalRecovery, TheIntactPartOfADamagedRecordNamesItsShards) {
  MemoryDisk disk;
  {
    Opened opened{disk};
    WalBatch batch = batch_of(1);
    batch.append(batch_of(2, 2000));
    ASSERT_TRUE(opened->append(batch).ok());
    ASSERT_TRUE(opened->sync().ok());
  }
  Image image = disk.image(segment_name(1));
  image[kRecordsOffset + 3 * kSectorBytes] ^= std::byte{1};
  const OpenedImage result{image};
  EXPECT_EQ(result.status().detail(), kWalRot);
  EXPECT_EQ(result.report().shards, (std::vector{ShardId{1}, ShardId{2}, ShardId{7}}));
}

TEST(WalRecovery, AZeroedPageOfSyncedRecordsIsRot) {
  const Image image = synced_image(20);
  const std::uint64_t end = kRecordsOffset + 20 * kSectorBytes;
  for (std::uint64_t page = kRecordsOffset; page < end; page += kPageBytes) {
    Image damaged = image;
    zero(std::span{damaged}.subspan(page, kPageBytes));
    EXPECT_EQ(OpenedImage{damaged}.status().detail(), kWalRot) << "page at " << page;
  }
}

TEST(WalRecovery, SwappedBlocksAreRot) {
  const Image image = synced_image(24);
  Image damaged = image;
  std::swap_ranges(damaged.begin() + kRecordsOffset,
                   damaged.begin() + kRecordsOffset + kPageBytes,
                   damaged.begin() + kRecordsOffset + kPageBytes);
  EXPECT_EQ(OpenedImage{damaged}.status().detail(), kWalRot);
}

TEST(WalRecovery, AnOlderCopyOfABlockIsRot) {
  const Image older = synced_image(12);
  const Image image = synced_image(24);
  for (std::uint64_t page = kRecordsOffset; page < kRecordsOffset + 3 * kPageBytes;
       page += kPageBytes) {
    const auto changed = std::span{image}.subspan(page, kPageBytes);
    const auto before = std::span{older}.subspan(page, kPageBytes);
    if (std::ranges::equal(changed, before)) {
      continue;
    }
    Image damaged = image;
    std::ranges::copy(before, damaged.begin() + static_cast<std::ptrdiff_t>(page));
    EXPECT_EQ(OpenedImage{damaged}.status().detail(), kWalRot) << "page at " << page;
  }
}

// A log of `last` records in which record 2 was first written, lost unsynced, and written again
// with other content; with the sector of the first writing put back.
Image with_stale_second_record(std::uint64_t last) {
  MemoryDisk disk;
  Image stale;
  {
    Opened opened{disk};
    append_synced(*opened, 1, 1);
    GCOORD_ASSERT(opened->append(batch_of(20)).ok());
    stale = disk.image(segment_name(1));
  }
  Image lost = stale;
  zero(sector_at(lost, kRecordsOffset + kSectorBytes));
  disk.set_image(segment_name(1), lost);
  append_synced(*Opened{disk}, 2, last);
  Image damaged = disk.image(segment_name(1));
  std::ranges::copy(sector_at(stale, kRecordsOffset + kSectorBytes),
                    sector_at(damaged, kRecordsOffset + kSectorBytes).begin());
  return damaged;
}

TEST(WalRecovery, AStaleRecordOfTheSameLsnBreaksTheChain) {
  const OpenedImage result{with_stale_second_record(3)};
  EXPECT_EQ(result.status().detail(), kWalRot);
}

TEST(WalRecovery, AStaleLastRecordContradictsItsIdentifier) {
  const OpenedImage result{with_stale_second_record(2)};
  EXPECT_EQ(result.status().detail(), kWalRot);
  EXPECT_EQ(result.report().lsn_first, Lsn{2});
  EXPECT_EQ(result.report().offset, kRecordsOffset + kSectorBytes);
}

TEST(WalRecovery, AnOlderIdentifierPageIsNoticedAndRepaired) {
  const Image older = synced_image(2);
  Image damaged = synced_image(24);
  std::ranges::copy(std::span{older}.subspan(kIdentifierPageOffset, kPageBytes),
                    damaged.begin() + kIdentifierPageOffset);
  OpenedImage result{damaged};
  ASSERT_TRUE(result.status().ok());
  EXPECT_GT(result.report().repaired_count, 0u);
  expect_records(result.opened->log, 1, 24);
  const Opened again{result.disk};
  EXPECT_EQ(again.report.repaired_count, 0u);
}

TEST(WalRecovery, ATruncatedSegmentIsRotWhenRecordsAreGone) {
  Image image = synced_image(20);
  image.resize(kRecordsOffset + 10 * kSectorBytes);
  EXPECT_EQ(OpenedImage{image}.status().detail(), kWalRot);
}

TEST(WalRecovery, ATruncatedSegmentIsMadeWholeWhenOnlyZerosAreGone) {
  Image image = synced_image(20);
  image.resize(kRecordsOffset + 25 * kSectorBytes);
  OpenedImage result{image};
  ASSERT_TRUE(result.status().ok());
  expect_records(result.opened->log, 1, 20);
  EXPECT_EQ(result.disk.image(segment_name(1)).size(), small_log().segment_bytes);
}

// A log of three segments or more, all synced.
void fill_segments(MemoryDisk& disk) {
  Opened opened{disk};
  append_synced(*opened, 1, 100, 2000);
  ASSERT_GE(opened->segment_count(), 4u);
}

TEST(WalRecovery, AMissingSegmentIsMissedWhereverItWas) {
  for (std::uint64_t number = 1; number <= 4; ++number) {
    MemoryDisk disk;
    fill_segments(disk);
    const auto names = disk.list().value();
    const std::string victim = number == 4 ? names.back() : segment_name(number);
    ASSERT_TRUE(disk.remove(victim == "wal-spare.tmp" ? names[names.size() - 2] : victim).ok());
    for (std::uint64_t later = 5; number == 4 && later < 20; ++later) {
      ASSERT_TRUE(disk.remove(segment_name(later)).ok());
    }
    const Opened again{disk};
    EXPECT_EQ(again.wal.status().detail(), kWalSegmentMissing) << "segment " << number;
    EXPECT_EQ(again.wal.status().code(), StatusCode::DataLoss);
  }
}

TEST(WalRecovery, ATruncatedSegmentInTheMiddleIsRot) {
  MemoryDisk disk;
  fill_segments(disk);
  Image image = disk.image(segment_name(2));
  image.resize(image.size() / 2);
  disk.set_image(segment_name(2), image);
  const Opened again{disk};
  EXPECT_EQ(again.wal.status().detail(), kWalRot);
  EXPECT_EQ(again.report.segment_name, segment_name(2));
}

TEST(WalRecovery, ExchangedSegmentsAreRot) {
  MemoryDisk disk;
  fill_segments(disk);
  const Image second = disk.image(segment_name(2));
  disk.set_image(segment_name(2), disk.image(segment_name(3)));
  disk.set_image(segment_name(3), second);
  EXPECT_EQ(Opened{disk}.wal.status().detail(), kWalRot);
}

TEST(WalRecovery, RotIsNeverCutSoASecondOpenSaysTheSame) {
  Image image = synced_image(5);
  image[kRecordsOffset + 700] ^= std::byte{1};
  OpenedImage result{image};
  EXPECT_EQ(result.disk.image(segment_name(1)), image);
  EXPECT_EQ(Opened{result.disk}.wal.status().detail(), kWalRot);
}

// Three synced records and one unsynced one of several sectors, whose sectors are then damaged one
// by one, as a loss of power may leave them.
class UnsyncedTail : public testing::Test {
 protected:
  static constexpr std::uint64_t kSyncedCount = 3;
  static constexpr std::uint64_t kTailOffset = kRecordsOffset + kSyncedCount * kSectorBytes;

  void SetUp() override {
    MemoryDisk disk;
    Opened opened{disk};
    append_synced(*opened, 1, kSyncedCount);
    ASSERT_TRUE(opened->append(batch_of(kSyncedCount + 1, 3000)).ok());
    image_ = disk.image(segment_name(1));
    tail_sectors_ = record_bytes(batch_of(kSyncedCount + 1, 3000).encoded().size()) / kSectorBytes;
    ASSERT_GT(tail_sectors_, 5u);
  }

  // The damaged log opens as torn, replays the synced records and is clean from then on.
  void expect_cut(const Image& damaged, std::uint64_t where) {
    OpenedImage result{damaged};
    ASSERT_TRUE(result.status().ok()) << result.status().to_string() << " sector " << where;
    EXPECT_EQ(result.report().outcome, WalOutcome::TornTail) << "sector " << where;
    expect_records(result.opened->log, 1, kSyncedCount);
    const Opened again{result.disk};
    EXPECT_EQ(again.report.outcome, WalOutcome::Clean) << "sector " << where;
    EXPECT_EQ(again.report.repaired_count, 0u) << "sector " << where;
    expect_records(again.log, 1, kSyncedCount);
  }

  Image without_identifier() const {
    Image image = image_;
    const std::uint64_t slot = (kSyncedCount + 1) % kIdentifierSlotCount;
    zero(sector_at(image, kIdentifierPageOffset + slot * kSectorBytes));
    return image;
  }

  Image image_;
  std::uint64_t tail_sectors_ = 0;
};

TEST_F(UnsyncedTail, WhollyWrittenIsKept) {
  const OpenedImage result{image_};
  expect_records(result.opened->log, 1, kSyncedCount + 1);
}

TEST_F(UnsyncedTail, EveryLostSectorMakesItTorn) {
  for (std::uint64_t sector = 0; sector < tail_sectors_; ++sector) {
    Image damaged = image_;
    zero(sector_at(damaged, kTailOffset + sector * kSectorBytes));
    expect_cut(damaged, sector);
  }
}

TEST_F(UnsyncedTail, EveryCutMakesItTorn) {
  for (std::uint64_t sector = 0; sector < tail_sectors_; ++sector) {
    Image damaged = image_;
    damaged.resize(kTailOffset + sector * kSectorBytes);
    expect_cut(damaged, sector);
  }
}

TEST_F(UnsyncedTail, EveryGarbledSectorMakesItTornWhenItsIdentifierIsMissingToo) {
  for (std::uint64_t sector = 0; sector < tail_sectors_; ++sector) {
    Image damaged = without_identifier();
    std::ranges::fill(sector_at(damaged, kTailOffset + sector * kSectorBytes), std::byte{0x5a});
    expect_cut(damaged, sector);
  }
}

TEST_F(UnsyncedTail, AGarbledSectorUnderAnIntactIdentifierIsNotCut) {
  for (std::uint64_t sector = 0; sector < tail_sectors_; ++sector) {
    Image damaged = image_;
    std::ranges::fill(sector_at(damaged, kTailOffset + sector * kSectorBytes), std::byte{0x5a});
    EXPECT_EQ(OpenedImage{damaged}.status().detail(), kWalRot) << "sector " << sector;
  }
}

TEST_F(UnsyncedTail, EverySubsetOfItsSectorsIsTornOrWhole) {
  for (std::uint64_t kept = 0; kept < (std::uint64_t{1} << tail_sectors_) - 1; ++kept) {
    Image damaged = kept % 2 == 0 ? image_ : without_identifier();
    for (std::uint64_t sector = 0; sector < tail_sectors_; ++sector) {
      if ((kept >> sector & 1) == 0) {
        zero(sector_at(damaged, kTailOffset + sector * kSectorBytes));
      }
    }
    if (kept == 0) {
      continue;  // Only the identifier arrived, or nothing: covered by the others.
    }
    expect_cut(damaged, kept);
  }
}

TEST_F(UnsyncedTail, ALoneIdentifierIsATornRecord) {
  Image damaged = image_;
  zero(std::span{damaged}.subspan(kTailOffset, tail_sectors_ * kSectorBytes));
  expect_cut(damaged, 0);
}

TEST_F(UnsyncedTail, APowerLossDuringTheCutIsCutAgain) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    MemoryDisk disk;
    Image damaged = image_;
    zero(sector_at(damaged, kTailOffset + 2 * kSectorBytes));
    disk.set_image(segment_name(1), damaged);
    {
      const Opened opened{disk};
      ASSERT_TRUE(opened.wal.ok());
    }
    disk.lose_power(seed);
    const Opened again{disk};
    ASSERT_TRUE(again.wal.ok());
    expect_records(again.log, 1, kSyncedCount);
  }
}

}  // namespace
}  // namespace gcoord::ledger
