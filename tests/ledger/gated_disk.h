// A Disk whose syncs of files wait at a gate, so that a test decides when the disk answers.
#pragma once

#include "ledger/disk/disk.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::ledger {

class Gate {
 public:
  void close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }

  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }

  // Called by the disk; returns when the gate is open.
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
    ++passed_;
    changed_.notify_all();
  }

  // Returns when a sync stands before the closed gate.
  void await_waiting() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }

  // Returns when this many syncs have gone through, ever.
  void await_passed(int sync_count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, sync_count] { return passed_ >= sync_count; });
  }

  int passed() {
    const std::lock_guard lock(mutex_);
    return passed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int waiting_ = 0;
  int passed_ = 0;
};

class GatedFile final : public DiskFile {
 public:
  GatedFile(std::unique_ptr<DiskFile> file, Gate& gate) : file_(std::move(file)), gate_(gate) {}

  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override {
    return file_->read(offset, into);
  }

  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return file_->write(offset, bytes);
  }

  Status sync() override {
    gate_.pass();
    return file_->sync();
  }

  Status drop_cached() override { return file_->drop_cached(); }

  Result<std::uint64_t> size_bytes() const override { return file_->size_bytes(); }

 private:
  std::unique_ptr<DiskFile> file_;
  Gate& gate_;
};

class GatedDisk final : public Disk {
 public:
  explicit GatedDisk(Disk& disk) : disk_(disk) {}

  Gate& gate() { return gate_; }

  Result<std::unique_ptr<DiskFile>> open(const std::string& name) override {
    return gated(disk_.open(name));
  }

  Result<std::unique_ptr<DiskFile>> create(const std::string& name,
                                           std::uint64_t size_bytes) override {
    return gated(disk_.create(name, size_bytes));
  }

  Status rename(const std::string& from, const std::string& to) override {
    return disk_.rename(from, to);
  }

  Status remove(const std::string& name) override { return disk_.remove(name); }

  Result<bool> exists(const std::string& name) override { return disk_.exists(name); }

  Result<std::vector<std::string>> list() override { return disk_.list(); }

  Status sync_directory() override { return disk_.sync_directory(); }

  Result<DiskSpace> space() override { return disk_.space(); }

 private:
  Result<std::unique_ptr<DiskFile>> gated(Result<std::unique_ptr<DiskFile>> file) {
    if (!file.ok()) {
      return file;
    }
    return std::unique_ptr<DiskFile>{std::make_unique<GatedFile>(std::move(file).value(), gate_)};
  }

  Disk& disk_;
  Gate gate_;
};

}  // namespace gcoord::ledger
