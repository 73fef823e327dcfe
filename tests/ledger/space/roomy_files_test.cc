#include "ledger/space/roomy_files.h"

#include "ledger/base/background_jobs.h"
#include "ledger/space/rocks_log.h"
#include "tests/ledger/space/full_disk.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace gcoord::ledger {
namespace {

Result<std::unique_ptr<rocksdb::DB>> open_database(const std::string& path, rocksdb::Env* files) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.env = files;
  options.listeners.push_back(background_jobs());
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

// Merges took what had been given out for the log and for checkpoints.
TEST(RoomyFiles, AMergeLeavesWhatAFlushNeeds) {
  const ScratchFolder folder;
  FullDisk full;
  full.free_bytes = 900 * kKiB;
  const auto files = roomy_environment(&full.guard);
  auto database = open_database(folder.path("db"), files.get()).value();
  const auto flush_some = [&database] {
    for (int k = 0; k < 4; ++k) {
      EXPECT_TRUE(database->Put({}, std::to_string(k), std::string(kKiB, 'x')).ok());
    }
    return database->Flush({}).ok();
  };
  EXPECT_TRUE(flush_some());
  full.free_bytes = 45 * kKiB;  // Under half of the mark, over the floor.
  EXPECT_TRUE(flush_some());
  const std::uint64_t before = full.held.value();
  auto merged = std::async(std::launch::async,
                           [&database] { return database->CompactRange({}, nullptr, nullptr); });
  // For as long as a busy machine may take.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (full.held.value() == before && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_GT(full.held.value(), before);
  EXPECT_TRUE(flush_some());
  full.free_bytes = 900 * kKiB;
  EXPECT_TRUE(merged.get().ok());
}

// Files of a disk that has `left` bytes, whatever anybody believes.
class SmallFile final : public rocksdb::WritableFileWrapper {
 public:
  SmallFile(std::atomic<std::int64_t>& left, std::unique_ptr<rocksdb::WritableFile> file)
      : WritableFileWrapper(file.get()), left_(left), file_(std::move(file)) {}

  rocksdb::Status Append(const rocksdb::Slice& bytes) override {
    size_ += bytes.size();
    const rocksdb::Status taken = take();
    return taken.ok() ? file_->Append(bytes) : taken;
  }

  rocksdb::Status Allocate(std::uint64_t offset, std::uint64_t byte_count) override {
    EXPECT_EQ(offset, size_);
    const std::uint64_t before = std::exchange(size_, offset + byte_count);
    const rocksdb::Status taken = take();
    size_ = before;
    return taken;
  }

  void PrepareWrite(std::size_t, std::size_t) override {}

 private:
  rocksdb::Status take() {
    const auto wanted = static_cast<std::int64_t>(std::max(size_, taken_) - taken_);
    if (wanted > left_) {
      return rocksdb::Status::NoSpace();
    }
    left_ -= wanted;
    taken_ += static_cast<std::uint64_t>(wanted);
    return rocksdb::Status::OK();
  }

  std::atomic<std::int64_t>& left_;
  std::unique_ptr<rocksdb::WritableFile> file_;
  std::uint64_t size_ = 0;
  std::uint64_t taken_ = 0;
};

class SmallDisk final : public rocksdb::EnvWrapper, public DiskRoom {
 public:
  SmallDisk() : EnvWrapper(rocksdb::Env::Default()) {}

  rocksdb::Status NewWritableFile(const std::string& name,
                                  std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    rocksdb::Status status = EnvWrapper::NewWritableFile(name, file, options);
    if (status.ok()) {
      *file = std::make_unique<SmallFile>(left, std::move(*file));
    }
    return status;
  }

  bool has(std::uint64_t) override { return true; }

  Result<std::uint64_t> await_room(const RoomWish& wish) override { return wish.wanted_bytes; }

  bool await_after_refusal() override {
    ++refusals;
    left += 64 * static_cast<std::int64_t>(kKiB);
    return true;
  }

  std::atomic<std::int64_t> left{1 << 20};
  std::atomic<int> refusals{0};
};

// It was aborted by an assertion in there.
TEST(RoomyFiles, ADatabaseOutlivesAnotherProgramThatTakesTheSpaceFirst) {
  const ScratchFolder folder;
  SmallDisk disk;
  const auto files = roomy_environment(&disk, &disk);
  auto database = open_database(folder.path("db"), files.get()).value();
  disk.left = 0;
  for (int k = 0; k < 8; ++k) {
    EXPECT_TRUE(database->Put({}, std::to_string(k), std::string(64 * kKiB, 'x')).ok());
    disk.left = 0;
  }
  EXPECT_TRUE(database->Flush({}).ok());
  EXPECT_GT(disk.refusals, 8);
}

// RocksDB's own ends the process.
TEST(RocksLog, OfADatabaseLosesWhatAFullDiskRefusesAndGoesOn) {
  SmallDisk disk;
  std::shared_ptr<rocksdb::Logger> log;
  if (!roomy_environment(&disk)->NewLogger("/dev/full", &log).ok()) {
    GTEST_SKIP() << "/dev/full is not here";
  }
  for (int k = 0; k < 3; ++k) {
    rocksdb::Info(log.get(), "%s", std::string(100'000, 'x').c_str());
    log->Flush();
  }
}

TEST(RocksLog, HasALineForEachCall) {
  const ScratchFolder folder;
  std::shared_ptr<rocksdb::Logger> log;
  ASSERT_TRUE(open_rocks_log(folder.path("LOG"), log).ok());
  rocksdb::Info(log.get(), "one %d", 1);
  rocksdb::Info(log.get(), "two");
  std::ifstream file{folder.path("LOG")};
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_TRUE(line.ends_with(" one 1")) << line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_TRUE(line.ends_with(" two")) << line;
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
