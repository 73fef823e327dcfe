#include "ledger/space/guard.h"

#include "ledger/base/error_details.h"
#include "ledger/disk/memory_disk.h"
#include "ledger/disk/posix_disk.h"
#include "tests/ledger/bounded_disk.h"
#include "tests/ledger/space/full_disk.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace gcoord::ledger {
namespace {

// A guard over a disk in memory, which looks when it is told to.
struct GuardedMemory {
  explicit GuardedMemory(std::uint64_t capacity_bytes) { disk->set_capacity_bytes(capacity_bytes); }

  Status open() { return guard.open(std::unique_ptr<Disk>{disk}); }

  // Another program takes all but `left_bytes`.
  void fill_up_to(std::uint64_t left_bytes) {
    ASSERT_TRUE(disk->remove("other").ok());
    const std::uint64_t free_bytes = disk->space().value().free_bytes;
    ASSERT_TRUE(disk->create("other", free_bytes - left_bytes).ok());
    guard.look();
  }

  bool has_reserve() const { return disk->exists("reserve").value(); }

  MemoryDisk* disk = new MemoryDisk;  // The guard's, once it is open.
  SpaceGuard guard{{.driver = StorageDriver::Owner, .metrics = nullptr, .marks = kMarks}};
};

TEST(SpaceGuard, ADirectoryGetsAReserveWhenItIsOpened) {
  GuardedMemory memory{1000 * kKiB};
  ASSERT_TRUE(memory.disk->create("identity", 100).ok());  // As the release before left it.
  ASSERT_TRUE(memory.open().ok());
  EXPECT_FALSE(memory.guard.is_low());
  EXPECT_EQ(memory.guard.report().reserve_bytes, kMarks.reserve_bytes);
  EXPECT_EQ(memory.disk->open("reserve").value()->size_bytes().value(), kMarks.reserve_bytes);
}

TEST(SpaceGuard, TakesUpTheReserveOfAnEarlierLifeAndReplacesOneThatWasNotFinished) {
  GuardedMemory whole{400 * kKiB};
  ASSERT_TRUE(whole.disk->create("reserve", kMarks.reserve_bytes).ok());
  ASSERT_TRUE(whole.open().ok());
  EXPECT_FALSE(whole.guard.is_low());
  GuardedMemory cut{400 * kKiB};
  ASSERT_TRUE(cut.disk->create("reserve", 1000).ok());
  ASSERT_TRUE(cut.open().ok());
  EXPECT_EQ(cut.disk->open("reserve").value()->size_bytes().value(), kMarks.reserve_bytes);
}

TEST(SpaceGuard, IsLowBelowTheMarkAndGivesTheReserveOutBelowHalfOfIt) {
  GuardedMemory memory{1000 * kKiB};
  ASSERT_TRUE(memory.open().ok());
  memory.fill_up_to(100 * kKiB);
  EXPECT_FALSE(memory.guard.is_low());
  memory.fill_up_to(99 * kKiB);
  EXPECT_TRUE(memory.guard.is_low());
  EXPECT_TRUE(memory.has_reserve());
  memory.fill_up_to(49 * kKiB);
  EXPECT_TRUE(memory.guard.is_low());
  EXPECT_FALSE(memory.has_reserve());
  EXPECT_EQ(memory.guard.report().free_bytes, 249 * kKiB);
}

TEST(SpaceGuard, IsLowUntilTheReserveIsFilledAgainWithAQuarterMoreThanTheMark) {
  GuardedMemory memory{1000 * kKiB};
  ASSERT_TRUE(memory.open().ok());
  memory.fill_up_to(0);
  EXPECT_FALSE(memory.has_reserve());
  memory.fill_up_to(324 * kKiB);
  EXPECT_TRUE(memory.guard.is_low());
  EXPECT_FALSE(memory.has_reserve());
  memory.fill_up_to(325 * kKiB);
  EXPECT_FALSE(memory.guard.is_low());
  EXPECT_TRUE(memory.has_reserve());
  memory.fill_up_to(90 * kKiB);
  EXPECT_TRUE(memory.guard.is_low());
  memory.fill_up_to(110 * kKiB);
  EXPECT_TRUE(memory.guard.is_low());
  memory.fill_up_to(125 * kKiB);
  EXPECT_FALSE(memory.guard.is_low());
}

TEST(SpaceGuard, GivesOutTheReserveBeforeAnybodyWaits) {
  GuardedMemory memory{1000 * kKiB};
  ASSERT_TRUE(memory.open().ok());
  memory.fill_up_to(60 * kKiB);
  EXPECT_TRUE(memory.has_reserve());
  EXPECT_FALSE(memory.guard.has(1));
  EXPECT_TRUE(memory.guard.await(240 * kKiB).ok());  // Of 60 and 200, but for the floor.
  EXPECT_FALSE(memory.has_reserve());
  EXPECT_EQ(memory.guard.await(260 * kKiB).detail(), kDiskFull);
}

// What its waiter can free is taken before the reserve.
TEST(SpaceGuard, WhoWaitsMayFreeRoomItselfBeforeTheReserveGoes) {
  GuardedMemory memory{1000 * kKiB};
  ASSERT_TRUE(memory.open().ok());
  memory.fill_up_to(60 * kKiB);
  const auto free_some = [&memory] { return memory.disk->remove("other"); };
  const auto room = memory.guard.await_room(
      {.wanted_bytes = 240 * kKiB, .least_bytes = 240 * kKiB, .meanwhile = free_some});
  EXPECT_EQ(room.value(), 240 * kKiB);
  EXPECT_TRUE(memory.has_reserve());
}

TEST(SpaceGuard, GivesTheLeastWhereThereIsNoMore) {
  GuardedMemory memory{1000 * kKiB};
  ASSERT_TRUE(memory.open().ok());
  memory.fill_up_to(60 * kKiB);
  int asked = 0;
  RoomWish wish{.wanted_bytes = 400 * kKiB, .least_bytes = 200 * kKiB, .meanwhile = [&asked] {
                  ++asked;
                  return Status{};
                }};
  EXPECT_EQ(memory.guard.await_room(wish).value(), 200 * kKiB);  // The reserve went for it.
  EXPECT_EQ(asked, 1);
  wish.least_bytes = 300 * kKiB;
  EXPECT_EQ(memory.guard.await_room(wish).status().detail(), kDiskFull);
  wish.meanwhile = [] { return Status{StatusCode::DataLoss, "rot", kWalRot}; };
  EXPECT_EQ(memory.guard.await_room(wish).status().detail(), kWalRot);
}

TEST(SpaceGuard, RefusesADiskWithLessThanTheFloor) {
  GuardedMemory memory{1000 * kKiB};
  ASSERT_TRUE(memory.disk->create("other", 995 * kKiB).ok());
  EXPECT_EQ(memory.open().detail(), kDiskFull);
}

TEST(SpaceGuard, ASmallFileSystemHasSmallMarks) {
  const SpaceMarks small = space_marks(std::uint64_t{64} << 20);
  EXPECT_EQ(small.reserve_bytes, std::uint64_t{4} << 20);
  const SpaceMarks large = space_marks(std::uint64_t{1} << 40);
  EXPECT_EQ(large.reserve_bytes, std::uint64_t{192} << 20);
  EXPECT_LE(large.floor_bytes, large.low_bytes / 2);
}

TEST(SpaceGuard, AWriteWaitsUntilSpaceIsFreed) {
  FullDisk full;
  auto waits = std::async(std::launch::async, [&full] { return full.guard.await(20 * kKiB); });
  full.until_held();
  full.free_bytes = 40 * kKiB;
  EXPECT_TRUE(waits.get().ok());
}

// A large file takes a slow disk seconds; the log of record asked for room meanwhile, and waited.
TEST(SpaceGuard, NobodyWaitsWhileTheReserveIsFilled) {
  std::atomic<std::uint64_t> free_bytes{50 * kKiB};
  SpaceGuard guard{{.driver = StorageDriver::Owner, .metrics = nullptr, .marks = kMarks}};
  auto disk = std::make_unique<CountedDisk>(free_bytes);
  std::future<Status> room;
  bool served = false;
  disk->on_create = [&] {
    room = std::async(std::launch::async, [&guard] { return guard.await(20 * kKiB); });
    served = room.wait_for(std::chrono::seconds{30}) == std::future_status::ready;
  };
  ASSERT_TRUE(guard.open(std::move(disk)).ok());
  ASSERT_FALSE(room.valid());  // There is no space for a reserve yet.
  free_bytes = 900 * kKiB;
  guard.look();
  ASSERT_TRUE(room.valid());
  EXPECT_TRUE(served);
  EXPECT_TRUE(room.get().ok());
}

// The log of record needs a file now and then, and found that there was none to be had.
TEST(SpaceGuard, ADiskThatMakesFewFilesMoreIsLowAndNoNewOneIsBegun) {
  std::atomic<std::uint64_t> free_bytes{900 * kKiB};
  SpaceGuard guard{{.driver = StorageDriver::Owner, .metrics = nullptr, .marks = kMarks}};
  auto owned = std::make_unique<CountedDisk>(free_bytes);
  CountedDisk& disk = *owned;
  ASSERT_TRUE(guard.open(std::move(owned)).ok());
  const RoomWish file{.wanted_bytes = kKiB, .least_bytes = kKiB, .makes_file = true};
  disk.files = kFilesFloor + 1;
  EXPECT_TRUE(guard.await_room(file).ok());
  disk.files = kFilesFloor;
  EXPECT_EQ(guard.await_room(file).status().detail(), kDiskFull);
  EXPECT_TRUE(guard.await(kKiB).ok());  // Into a file that is there.
}

TEST(SpaceGuard, IsLowWhileFewFilesCanBeMade) {
  MemoryDisk memory;
  SpaceGuard guard{{.driver = StorageDriver::Owner, .metrics = nullptr, .marks = kMarks}};
  auto owned = std::make_unique<BoundedDisk>(memory, 1000 * kKiB);
  BoundedDisk& disk = *owned;
  ASSERT_TRUE(guard.open(std::move(owned)).ok());
  EXPECT_FALSE(guard.is_low());
  for (const auto& [files, low] :
       {std::pair{kFilesLow - 1, true}, {kFilesLow, true}, {kFilesLow + kFilesLow / 4, false}}) {
    disk.free_files = files;
    guard.look();
    EXPECT_EQ(guard.is_low(), low) << files;
  }
  EXPECT_TRUE(disk.exists("reserve").value());
}

// As one of a file that was copied is.
TEST(SpaceGuard, AReserveWithHolesIsMadeAnew) {
  const ScratchFolder folder;
  { std::ofstream file{folder.path("reserve")}; }
  std::filesystem::resize_file(folder.path("reserve"), kMarks.reserve_bytes);
  SpaceGuard guard{{.driver = StorageDriver::Owner, .metrics = nullptr, .marks = kMarks}};
  ASSERT_TRUE(guard.open(PosixDisk::open_directory(folder.path("")).value()).ok());
  const auto file = PosixDisk::open_directory(folder.path("")).value()->open("reserve").value();
  EXPECT_GE(file->allocated_bytes().value(), kMarks.reserve_bytes);
}

// What the disk refuses although it tells of space, as under a quota.
TEST(SpaceGuard, WhoIsRefusedGetsTheReserveAndThenWaits) {
  GuardedMemory memory{1000 * kKiB};
  ASSERT_TRUE(memory.open().ok());
  EXPECT_TRUE(memory.guard.await_after_refusal());
  EXPECT_FALSE(memory.has_reserve());
  EXPECT_TRUE(memory.guard.is_low());
  EXPECT_FALSE(memory.guard.await_after_refusal());  // Nobody waits without a thread.
  FullDisk full;
  auto waits = std::async(std::launch::async, [&full] {
    while (full.guard.await_after_refusal()) {
    }
  });
  full.until_held();
  full.guard.stop();
  waits.get();
}

TEST(SpaceGuard, AReserveThatIsRefusedIsNotTriedWithEveryLook) {
  std::atomic<std::uint64_t> free_bytes{900 * kKiB};
  SpaceGuard guard{{.driver = StorageDriver::Owner, .metrics = nullptr, .marks = kMarks}};
  auto disk = std::make_unique<CountedDisk>(free_bytes);
  int tries = 0;
  disk->on_create = [&tries] { ++tries; };
  ASSERT_TRUE(guard.open(std::move(disk)).ok());
  EXPECT_EQ(tries, 1);
  for (int k = 0; k < 100; ++k) {
    guard.look();
  }
  EXPECT_GT(tries, 2);
  EXPECT_LT(tries, 10);
}

TEST(SpaceGuard, WorkThatCanWaitLeavesTheReserveAndHalfOfTheMarkToOthers) {
  GuardedMemory memory{1000 * kKiB};
  ASSERT_TRUE(memory.open().ok());
  memory.fill_up_to(60 * kKiB);
  RoomWish wish{.wanted_bytes = 20 * kKiB, .least_bytes = 20 * kKiB, .can_wait = true};
  EXPECT_EQ(memory.guard.await_room(wish).status().detail(), kDiskFull);
  EXPECT_TRUE(memory.has_reserve());
  wish.can_wait = false;
  EXPECT_TRUE(memory.guard.await_room(wish).ok());
}

TEST(SpaceGuard, NobodyWaitsForANodeThatEnds) {
  FullDisk full;
  auto waits = std::async(std::launch::async, [&full] { return full.guard.await(20 * kKiB); });
  full.until_held();
  full.guard.stop();
  EXPECT_EQ(waits.get().code(), StatusCode::Aborted);
}

}  // namespace
}  // namespace gcoord::ledger
