#include "ledger/disk/memory_disk.h"

#include "ledger/base/error_details.h"
#include "tests/ledger/replay_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>

namespace gcoord::ledger {
namespace {

std::string text_in(DiskFile& file) {
  const auto bytes = read_all(file).value();
  return std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(MemoryDisk, ReadsWhatWasWrittenAcrossSectors) {
  MemoryDisk disk;
  const auto file = disk.create("a", 0).value();
  const std::string text(1300, 'x');
  ASSERT_TRUE(file->write(500, bytes_of(text)).ok());
  EXPECT_EQ(text_in(*file), std::string(500, '\0') + text);
}

TEST(MemoryDisk, SyncedBytesSurviveALossOfPower) {
  MemoryDisk disk;
  {
    const auto file = disk.create("a", 0).value();
    ASSERT_TRUE(file->write(0, bytes_of("kept")).ok());
    ASSERT_TRUE(file->sync().ok());
    ASSERT_TRUE(disk.sync_directory().ok());
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    disk.lose_power(seed);
    EXPECT_EQ(text_in(*disk.open("a").value()), "kept");
  }
}

TEST(MemoryDisk, UnsyncedSectorsSurviveInAnySubset) {
  std::set<std::string> outcomes;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    MemoryDisk disk;
    const auto file = disk.create("a", 3 * kSectorBytes).value();
    ASSERT_TRUE(file->sync().ok());
    ASSERT_TRUE(disk.sync_directory().ok());
    ASSERT_TRUE(file->write(0, bytes_of(std::string(3 * kSectorBytes, 'n'))).ok());
    disk.lose_power(seed);
    std::string outcome;
    const auto image = disk.image("a");
    for (std::size_t sector = 0; sector < 3; ++sector) {
      outcome += image[sector * kSectorBytes] == std::byte{'n'} ? 'n' : 'o';
      EXPECT_EQ(image[sector * kSectorBytes], image[(sector + 1) * kSectorBytes - 1]);
    }
    outcomes.insert(outcome);
  }
  EXPECT_EQ(outcomes.size(), 8u);
}

TEST(MemoryDisk, NamesSurviveAsAPrefixOfTheirChanges) {
  std::set<std::size_t> counts;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    MemoryDisk disk;
    (void)disk.create("a", 0).value();
    (void)disk.create("b", 0).value();
    disk.lose_power(seed);
    EXPECT_TRUE(disk.exists("a").value() || !disk.exists("b").value());
    counts.insert(disk.list().value().size());
  }
  EXPECT_EQ(counts.size(), 3u);
}

TEST(MemoryDisk, ARenameIsTheOldOrTheNewNameNeverBothOrNone) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    MemoryDisk disk;
    (void)disk.create("a", 0).value();
    ASSERT_TRUE(disk.sync_directory().ok());
    ASSERT_TRUE(disk.rename("a", "b").ok());
    disk.lose_power(seed);
    EXPECT_EQ(disk.list().value().size(), 1u);
  }
}

TEST(MemoryDisk, AFailedSyncLeavesBytesReadableAndGone) {
  MemoryDisk disk;
  const auto file = disk.create("a", kSectorBytes).value();
  ASSERT_TRUE(file->sync().ok());
  ASSERT_TRUE(file->write(0, bytes_of("lost")).ok());
  disk.fail_syncs(true);
  EXPECT_EQ(file->sync().detail(), kDiskSyncFailed);
  disk.fail_syncs(false);
  EXPECT_TRUE(file->sync().ok());
  EXPECT_EQ(text_in(*file).substr(0, 4), "lost");
  ASSERT_TRUE(file->drop_cached().ok());
  EXPECT_EQ(text_in(*file)[0], '\0');
}

TEST(MemoryDisk, FilesOfAnEarlierLifeAnswerAborted) {
  MemoryDisk disk;
  const auto file = disk.create("a", 0).value();
  disk.crash();
  EXPECT_EQ(file->write(0, bytes_of("x")).code(), StatusCode::Aborted);
}

TEST(MemoryDisk, AtomicWriteLeavesTheOldOrTheNewContent) {
  std::set<std::string> outcomes;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    MemoryDisk disk;
    ASSERT_TRUE(write_atomically(disk, "a", bytes_of("old")).ok());
    disk.fail_syncs(seed % 2 == 0);
    (void)write_atomically(disk, "a", bytes_of("new"));
    disk.fail_syncs(false);
    disk.lose_power(seed);
    outcomes.insert(text_in(*disk.open("a").value()));
  }
  EXPECT_EQ(outcomes, (std::set<std::string>{"old", "new"}));
}

TEST(PowerSupply, DisksThatShareOneLoseTheirPowerBeforeTheSameOperation) {
  MemoryDisk first;
  MemoryDisk second;
  const auto power = std::make_shared<PowerSupply>();
  first.set_power(power);
  second.set_power(power);
  const auto a = first.create("a", 512).value();
  const auto b = second.create("b", 512).value();
  const std::array<std::byte, 4> bytes{};
  power->cut_after(3);
  EXPECT_TRUE(a->write(0, bytes).ok());
  EXPECT_TRUE(b->write(0, bytes).ok());
  EXPECT_FALSE(a->sync().ok());
  EXPECT_EQ(power->struck(), DiskOperation::Sync);
  EXPECT_FALSE(b->sync().ok());
  EXPECT_FALSE(second.create("c", 512).ok());
  EXPECT_FALSE(second.remove("b").ok());
  EXPECT_EQ(power->struck(), DiskOperation::Sync);
  first.lose_power(1);
  second.lose_power(2);
  EXPECT_TRUE(second.create("c", 512).ok());
}

}  // namespace
}  // namespace gcoord::ledger
