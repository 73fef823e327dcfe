// One directory of files, as far as the log of record and its recovery need it.
//
// All writing and recovery code runs on this interface, so a simulator can run the very same code
// on a disk that loses power (memory_disk.h). What the callers rely on, and nothing more:
//   - a write is not durable before sync() of that file returns ok; until then any subset of its
//     512-byte sectors may survive a power loss, in any order, each as it was or as written;
//   - a file's existence, name and removal are not durable before sync_directory() returns ok;
//   - rename replaces atomically.
// A failure is final for the file: Linux marks pages clean after a failed fsync, so a retry that
// "succeeds" proves nothing (ATC'20, "Can applications recover from fsync failures?"). Callers
// stop. Failures: ResourceExhausted (kDiskFull) when there is no space, else Unavailable with one
// of the kDisk numbers. Names are plain file names without a slash. One thread at a time per file;
// calls on the directory itself and on different files may run at the same time.
#pragma once

#include "common/status.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gcoord::ledger {

// The unit that a disk writes whole or not at all; devices with 4 KiB sectors only promise more.
inline constexpr std::size_t kSectorBytes = 512;

class DiskFile {
 public:
  DiskFile() = default;
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;
  virtual ~DiskFile() = default;

  // Reads from offset; returns the bytes read, fewer than asked only at the end of the file.
  virtual Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) = 0;
  // Writes all of it, or fails with an unknown part written. Extends the file when it must.
  virtual Status write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  // Makes everything written so far durable, the size included (fdatasync).
  virtual Status sync() = 0;
  // Persists what an earlier life of this process left in the operating system's cache and makes
  // the next read come from the device, so that recovery sees what a power loss would have left.
  virtual Status drop_cached() = 0;
  virtual Result<std::uint64_t> size_bytes() const = 0;

  // What the file takes of the disk's space: less than its size where it has holes.
  virtual Result<std::uint64_t> allocated_bytes() const { return size_bytes(); }
};

// Of the file system that a directory lies on, for this process.
struct DiskSpace {
  std::uint64_t free_bytes = 0;  // Without what the system keeps for its administrator.
  std::uint64_t total_bytes = 0;
  // That can still be made, where the file system has a limit of its own.
  std::uint64_t free_files = std::numeric_limits<std::uint64_t>::max();
};

class Disk {
 public:
  Disk() = default;
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  virtual ~Disk() = default;

  // An existing file, for reading and writing; NotFound when there is none.
  virtual Result<std::unique_ptr<DiskFile>> open(const std::string& name) = 0;
  // A fresh file in place of any old one; size_bytes of space are reserved and read as zeros.
  virtual Result<std::unique_ptr<DiskFile>> create(const std::string& name,
                                                   std::uint64_t size_bytes) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  // Ok also when there is no such file.
  virtual Status remove(const std::string& name) = 0;
  virtual Result<bool> exists(const std::string& name) = 0;
  // Names in ascending order.
  virtual Result<std::vector<std::string>> list() = 0;
  // Makes all creations, renames and removals so far durable.
  virtual Status sync_directory() = 0;
  // How much fits now; another process may take it at any time.
  virtual Result<DiskSpace> space() = 0;
};

// The whole file; for small files and for recovery, which reads one segment at a time.
Result<std::vector<std::byte>> read_all(DiskFile& file);

// Replaces the file `name` by `bytes` so that a power loss leaves the old or the new content, never
// a mixture: temporary file, sync, rename, directory sync. Durable when it returns ok.
Status write_atomically(Disk& disk, const std::string& name, std::span<const std::byte> bytes);

}  // namespace gcoord::ledger
