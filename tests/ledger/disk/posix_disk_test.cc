#include "ledger/disk/posix_disk.h"

#include "ledger/base/error_details.h"
#include "tests/ledger/wal/opened_wal.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

namespace gcoord::ledger {
namespace {

TEST(PosixDisk, KeepsALogOverRestarts) {
  const ScratchFolder directory;
  const auto disk = PosixDisk::open_directory(directory.path("wal")).value();
  append_synced(*Opened{*disk}, 1, 60, 2000);
  append_synced(*Opened{*disk}, 61, 70, 300'000);
  const Opened again{*disk};
  ASSERT_TRUE(again.wal.ok()) << again.wal.status().to_string();
  expect_records(again.log, 1, 70);
  EXPECT_EQ(again.report.outcome, WalOutcome::Clean);
}

TEST(PosixDisk, ReadsStopAtTheEndOfTheFile) {
  const ScratchFolder directory;
  const auto disk = PosixDisk::open_directory(directory.path()).value();
  const auto file = disk->create("a", 100).value();
  std::array<std::byte, 64> bytes{};
  EXPECT_EQ(file->read(80, bytes).value(), 20u);
  EXPECT_EQ(file->read(200, bytes).value(), 0u);
  EXPECT_EQ(file->size_bytes().value(), 100u);
}

TEST(PosixDisk, ListsRenamesAndRemoves) {
  const ScratchFolder directory;
  const auto disk = PosixDisk::open_directory(directory.path()).value();
  ASSERT_TRUE(disk->create("b", 0).ok());
  ASSERT_TRUE(disk->create("a", 0).ok());
  EXPECT_EQ(disk->list().value(), (std::vector<std::string>{"a", "b"}));
  ASSERT_TRUE(disk->rename("a", "c").ok());
  ASSERT_TRUE(disk->remove("b").ok());
  ASSERT_TRUE(disk->remove("b").ok());
  ASSERT_TRUE(disk->sync_directory().ok());
  EXPECT_EQ(disk->list().value(), (std::vector<std::string>{"c"}));
  EXPECT_FALSE(disk->exists("a").value());
  EXPECT_TRUE(disk->exists("c").value());
}

TEST(PosixDisk, AMissingFileIsNotFoundAndNamed) {
  const ScratchFolder directory;
  const auto disk = PosixDisk::open_directory(directory.path()).value();
  const auto opened = disk->open("absent");
  EXPECT_EQ(opened.status().code(), StatusCode::NotFound);
  EXPECT_NE(opened.status().message().find(directory.path("absent")), std::string::npos);
}

TEST(PosixDisk, AFullDeviceIsTyped) {
  const auto disk = PosixDisk::open_directory("/dev").value();
  const auto file = disk->open("full");
  if (!file.ok()) {
    GTEST_SKIP() << "/dev/full is not here: " << file.status().to_string();
  }
  const auto status = file.value()->write(0, bytes_of("x"));
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(status.detail(), kDiskFull);
}

// A room that frees space when it is asked, as one with a reserve does.
class CountedRoom final : public DiskRoom {
 public:
  bool has(std::uint64_t) override {
    ++looks;
    return false;
  }

  bool await_after_refusal() override { return ++waits < 5; }

  Result<std::uint64_t> await_room(const RoomWish& wish) override { return wish.wanted_bytes; }

  int looks = 0;
  int waits = 0;
};

TEST(PosixDisk, AsksForTheReserveOnceBeforeADeviceIsFull) {
  CountedRoom room;
  const auto disk = PosixDisk::open_directory("/dev", &room).value();
  const auto file = disk->open("full");
  if (!file.ok()) {
    GTEST_SKIP() << "/dev/full is not here: " << file.status().to_string();
  }
  EXPECT_EQ(file.value()->write(0, bytes_of("x")).detail(), kDiskFull);
  EXPECT_EQ(room.looks, 1);
}

TEST(PosixDisk, WaitsForSpaceUntilNobodyWaitsAnyMore) {
  CountedRoom room;
  const auto disk = PosixDisk::open_directory("/dev", &room, WhenFull::Waits).value();
  const auto file = disk->open("full");
  if (!file.ok()) {
    GTEST_SKIP() << "/dev/full is not here: " << file.status().to_string();
  }
  EXPECT_EQ(file.value()->write(0, bytes_of("x")).detail(), kDiskFull);
  EXPECT_EQ(room.waits, 5);
}

}  // namespace
}  // namespace gcoord::ledger
