// A Disk in a directory of the operating system.
//
// Space is reserved with fallocate, durability is fdatasync, and drop_cached() is fdatasync
// followed by posix_fadvise(DONTNEED), after which a page that the kernel wrongly holds for clean
// is read again from the device. Files are created with mode 0600 and closed on exec.
//
// Where the file system is full, what may be held in reserve there is given out (DiskRoom), and the
// call is tried once more, or again and again until there is space (WhenFull); a sync never is.
// Interrupted reads and writes are continued; an interrupted sync is a failure like any other. The
// messages name the full path, the cause and what to do.
#pragma once

#include "ledger/disk/disk.h"
#include "ledger/disk/room.h"

#include <cstdint>
#include <memory>
#include <string>

namespace gcoord::ledger {

// What becomes of a call that a full disk refuses.
enum class WhenFull : std::uint8_t {
  Fails,
  Waits,  // For space, as DiskRoom waits; for threads that nobody needs meanwhile.
};

// Where files get space from when the disk has none; no room: nowhere.
struct SpaceOfFiles {
  DiskRoom* room = nullptr;
  WhenFull when_full = WhenFull::Fails;
};

class PosixDisk final : public Disk {
 public:
  // Opens the directory, creating it (mode 0700, its parent must exist) when there is none; its
  // creation is durable on return. `room`, which may have a reserve, outlives it; nullptr: none
  // has, and calls fail.
  static Result<std::unique_ptr<PosixDisk>> open_directory(const std::string& path,
                                                           DiskRoom* room = nullptr,
                                                           WhenFull when_full = WhenFull::Fails);
  ~PosixDisk() override;

  Result<DiskSpace> space() override;
  Result<std::unique_ptr<DiskFile>> open(const std::string& name) override;
  Result<std::unique_ptr<DiskFile>> create(const std::string& name,
                                           std::uint64_t size_bytes) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& name) override;
  Result<bool> exists(const std::string& name) override;
  Result<std::vector<std::string>> list() override;
  Status sync_directory() override;

 private:
  PosixDisk(std::string path, int directory_fd, const SpaceOfFiles& space);

  std::string path_;
  int directory_fd_;
  SpaceOfFiles space_;
};

}  // namespace gcoord::ledger
