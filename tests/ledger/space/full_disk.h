// A disk of which a test says what is free, and a guard of it with a thread.
#pragma once

#include "common/host/metrics.h"
#include "ledger/disk/disk.h"
#include "ledger/space/guard.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::ledger {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr SpaceMarks kMarks{
    .reserve_bytes = 200 * kKiB, .low_bytes = 100 * kKiB, .floor_bytes = 10 * kKiB};

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

  Result<DiskSpace> space() override { return DiskSpace{free_bytes_.load(), 1000 * kKiB, files}; }

  std::function<void()> on_create;
  std::atomic<std::uint64_t> files{100'000};

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

}  // namespace gcoord::ledger
