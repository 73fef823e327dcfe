#include "ledger/space/guard.h"

#include "ledger/base/error_details.h"
#include "ledger/disk/memory_disk.h"
#include "ledger/space/roomy_files.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

namespace gcoord::ledger {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr SpaceMarks kMarks{
    .reserve_bytes = 200 * kKiB, .low_bytes = 100 * kKiB, .floor_bytes = 10 * kKiB};

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

// Names are nobody's business here; another thread sets what is free.
class CountedDisk final : public Disk {
 public:
  explicit CountedDisk(std::atomic<std::uint64_t>& free_bytes) : free_bytes_(free_bytes) {}

  Result<std::unique_ptr<DiskFile>> open(const std::string&) override { return none(); }

  Result<std::unique_ptr<DiskFile>> create(const std::string&, std::uint64_t) override {
    if (on_create) {
      on_create();
    }
    return none();
  }

  Status rename(const std::string&, const std::string&) override { return {}; }

  Status remove(const std::string&) override { return {}; }

  Result<bool> exists(const std::string&) override { return false; }

  Result<std::vector<std::string>> list() override { return std::vector<std::string>{}; }

  Status sync_directory() override { return {}; }

  Result<DiskSpace> space() override { return DiskSpace{free_bytes_.load(), 1000 * kKiB}; }

  std::function<void()> on_create;

 private:
  static Status none() { return {StatusCode::NotFound, "no file"}; }

  std::atomic<std::uint64_t>& free_bytes_;
};

// The disk is full, and somebody waits.
struct FullDisk {
  FullDisk() {
    EXPECT_TRUE(guard.open(std::make_unique<CountedDisk>(free_bytes)).ok());
    free_bytes = 0;
  }

  std::atomic<std::uint64_t> free_bytes{50 * kKiB};
  MetricsRegistry metrics;
  SpaceGuard guard{{.driver = StorageDriver::Thread, .metrics = &metrics, .marks = kMarks}};
  Counter& held = metrics.counter({"gcoord_ledger_disk_held_writes_total", "", "", ""});

  void until_held() const {
    while (held.value() == 0) {
      std::this_thread::yield();
    }
  }
};

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

TEST(SpaceGuard, NobodyWaitsForANodeThatEnds) {
  FullDisk full;
  auto waits = std::async(std::launch::async, [&full] { return full.guard.await(20 * kKiB); });
  full.until_held();
  full.guard.stop();
  EXPECT_EQ(waits.get().code(), StatusCode::Aborted);
}

Result<std::unique_ptr<rocksdb::DB>> open_database(const std::string& path, rocksdb::Env* files) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.env = files;
  rocksdb::DB* database = nullptr;
  const rocksdb::Status opened = rocksdb::DB::Open(options, path, &database);
  if (!opened.ok()) {
    return Status{StatusCode::Internal, opened.ToString()};
  }
  return std::unique_ptr<rocksdb::DB>{database};
}

TEST(RoomyFiles, ADatabaseWaitsForSpaceAndLosesNothing) {
  const ScratchFolder folder;
  FullDisk full;
  full.free_bytes = 900 * kKiB;
  const auto files = roomy_environment(&full.guard);
  auto database = open_database(folder.path("db"), files.get()).value();
  full.free_bytes = 0;
  auto written = std::async(std::launch::async, [&database] {
    rocksdb::Status status;
    for (int k = 0; k < 64 && status.ok(); ++k) {
      status = database->Put({}, std::to_string(k), std::string(64 * kKiB, 'x'));
    }
    return status.ok() ? database->Flush({}) : status;
  });
  full.until_held();
  std::string value;
  EXPECT_TRUE(database->Get({}, "absent", &value).IsNotFound());  // Reads wait for nothing.
  full.free_bytes = 900 * kKiB;
  EXPECT_TRUE(written.get().ok());
  EXPECT_TRUE(database->Get({}, "63", &value).ok());
}

TEST(RoomyFiles, ADatabaseThatWaitsCanBeClosed) {
  const ScratchFolder folder;
  FullDisk full;
  full.free_bytes = 900 * kKiB;
  const auto files = roomy_environment(&full.guard);
  auto database = open_database(folder.path("db"), files.get()).value();
  ASSERT_TRUE(database->Put({}, "kept", "value").ok());
  full.free_bytes = 0;
  auto written = std::async(std::launch::async, [&database] {
    rocksdb::Status status;
    for (int k = 0; k < 64 && status.ok(); ++k) {
      status = database->Put({}, std::to_string(k), std::string(64 * kKiB, 'x'));
    }
    return status.ok() ? database->Flush({}) : status;
  });
  full.until_held();
  full.guard.stop();
  EXPECT_TRUE(written.get().ok());  // There is space, whatever the guard was told.
  database.reset();
  std::string value;
  database = open_database(folder.path("db"), rocksdb::Env::Default()).value();
  EXPECT_TRUE(database->Get({}, "kept", &value).ok());
  EXPECT_TRUE(database->Get({}, "63", &value).ok());
}

}  // namespace
}  // namespace gcoord::ledger
