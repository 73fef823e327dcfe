// A Disk that holds so many bytes, for what never extends a file; and the space on it, for guards.
#pragma once

#include "ledger/disk/disk.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::ledger {

// Files of `disk`, one thread at a time as there; space() is for any thread.
class BoundedDisk final : public Disk {
 public:
  BoundedDisk(Disk& disk, std::uint64_t capacity_bytes)
      : disk_(disk), capacity_bytes_(capacity_bytes) {}

  Result<std::unique_ptr<DiskFile>> open(const std::string& name) override {
    return disk_.open(name);
  }

  Result<std::unique_ptr<DiskFile>> create(const std::string& name,
                                           std::uint64_t size_bytes) override {
    {
      const std::lock_guard lock(mutex_);
      bytes_[name] = size_bytes;
    }
    return disk_.create(name, size_bytes);
  }

  Status rename(const std::string& from, const std::string& to) override {
    {
      const std::lock_guard lock(mutex_);
      bytes_[to] = bytes_[from];
      bytes_.erase(from);
    }
    return disk_.rename(from, to);
  }

  Status remove(const std::string& name) override {
    GCOORD_TRY_STATUS(disk_.remove(name));
    const std::lock_guard lock(mutex_);
    bytes_.erase(name);
    return {};
  }

  Result<bool> exists(const std::string& name) override { return disk_.exists(name); }

  Result<std::vector<std::string>> list() override { return disk_.list(); }

  Status sync_directory() override { return disk_.sync_directory(); }

  Result<DiskSpace> space() override {
    const std::uint64_t used = used_bytes();
    return DiskSpace{
        used < capacity_bytes_ ? capacity_bytes_ - used : 0, capacity_bytes_, free_files};
  }

  std::uint64_t used_bytes() {
    const std::lock_guard lock(mutex_);
    std::uint64_t used = 0;
    for (const auto& [name, bytes] : bytes_) {
      used += bytes;
    }
    return used;
  }

  std::atomic<std::uint64_t> free_files{DiskSpace{}.free_files};

 private:
  Disk& disk_;
  const std::uint64_t capacity_bytes_;
  std::mutex mutex_;  // Guards bytes_.
  std::map<std::string, std::uint64_t> bytes_;
};

// The space of another disk, and no files: a guard of it has no reserve.
class SpaceOfDisk final : public Disk {
 public:
  explicit SpaceOfDisk(Disk& disk) : disk_(disk) {}

  Result<std::unique_ptr<DiskFile>> open(const std::string&) override { return none(); }

  Result<std::unique_ptr<DiskFile>> create(const std::string&, std::uint64_t) override {
    return none();
  }

  Status rename(const std::string&, const std::string&) override { return {}; }

  Status remove(const std::string&) override { return {}; }

  Result<bool> exists(const std::string&) override { return false; }

  Result<std::vector<std::string>> list() override { return std::vector<std::string>{}; }

  Status sync_directory() override { return {}; }

  Result<DiskSpace> space() override { return disk_.space(); }

 private:
  static Status none() { return {StatusCode::NotFound, "no file"}; }

  Disk& disk_;
};

}  // namespace gcoord::ledger
