// Guard of a data directory's free space: a full disk is a state of the node, not its end.
//
//   free space   enough      nothing happens
//                low         the node takes nothing that makes its log grow (is_low)
//                half of low the reserve is given out: the file `reserve` is removed
//                floor       tables and segments of the log wait for room (DiskRoom)
//
// Work that can wait, such as merges of tables, stops at half of low already: what is left then is
// for the log and for checkpoints. Where the file system makes few files more, the disk is low as
// well, and what needs a new one waits before there are none.
//
// The reserve is a preallocated file, so what must go on (releases, expiry, checkpoints, which give
// space back) has room that no other process took before. It is filled again, and the disk is no
// longer low, once the space for it is there with a quarter more than the mark. Some bytes, the
// floor, are never taken by tables and segments: small files, such as a node's identity, need them.
//
// What is looked at is the file system of the data directory; a folder of it that is mounted from
// elsewhere is not watched, and neither is a quota that statvfs does not tell of. A write that
// fails nevertheless is final, as everywhere (disk.h).
//
// With StorageDriver::Thread a thread looks ten times a second, until stop(), and fills the
// reserve; whoever else looks waits for no more than a look. Any thread.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "ledger/disk/disk.h"
#include "ledger/disk/room.h"
#include "ledger/disk/storage_driver.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace gcoord::ledger {

// The reserve's file in the data directory.
inline constexpr const char* kReserveName = "reserve";

struct SpaceMarks {
  std::uint64_t reserve_bytes = 0;
  std::uint64_t low_bytes = 0;    // With less free, beside the reserve, the disk is low.
  std::uint64_t floor_bytes = 0;  // Never taken by tables and segments; below half of low_bytes.
};

// Of a file system of this size: a sixteenth of it, but never more than 192 MiB, which is two
// segments of the log of record and a flush of history.
SpaceMarks space_marks(std::uint64_t total_bytes);

struct SpaceGuardOptions {
  StorageDriver driver = StorageDriver::Thread;
  MetricsRegistry* metrics = nullptr;  // Else gcoord_ledger_disk_* is registered.
  std::optional<SpaceMarks> marks;     // Empty: space_marks() of the disk's size.
};

// Files that can still be made: with less the disk is low, and a few are for small ones alone.
inline constexpr std::uint64_t kFilesLow = 256;
inline constexpr std::uint64_t kFilesFloor = 32;

struct SpaceReport {
  std::uint64_t free_bytes = 0;
  std::uint64_t free_files = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t reserve_bytes = 0;  // Held now.
  std::uint64_t low_bytes = 0;
  bool low = false;
};

class SpaceGuard final : public DiskRoom {
 public:
  explicit SpaceGuard(SpaceGuardOptions options);
  ~SpaceGuard() override;

  // Once, before anything else is written there: takes up the reserve that lies in the directory,
  // or makes it. ResourceExhausted (kDiskFull): there is not even the floor.
  Status open(std::unique_ptr<Disk> disk);

  // Looks now. Nothing happens before open().
  void look();

  // As of the last look.
  bool is_low() const { return low_.load(std::memory_order_relaxed); }

  SpaceReport report() const;

  // Nobody waits for room any more, and nobody looks.
  void stop();

  bool has(std::uint64_t byte_count) override;
  // False with StorageDriver::Owner, unless the reserve was given out.
  bool await_after_refusal() override;
  // With StorageDriver::Owner nobody waits: ResourceExhausted (kDiskFull) instead.
  Result<std::uint64_t> await_room(const RoomWish& wish) override;

 private:
  struct Metrics;

  void run();
  // All below with the mutex.
  void look_now();
  bool fits(std::uint64_t byte_count, const RoomWish& wish) const;
  bool has_enough() const;
  // As await_room, without waiting: the bytes that may be taken now; nothing: too few.
  Result<std::optional<std::uint64_t>> room_for(const RoomWish& wish,
                                                std::unique_lock<std::mutex>& lock);
  void give_out();
  void fill_if_due(std::unique_lock<std::mutex>& lock);
  void measure();
  void take_up();
  void tell();

  SpaceGuardOptions options_;
  std::unique_ptr<Metrics> metrics_;
  std::atomic<bool> low_{false};

  mutable std::mutex report_mutex_;  // Guards the report alone, so that no reader waits for a disk.
  SpaceReport report_;

  std::mutex mutex_;  // Guards all below; held while the disk is asked, but for a fill.
  std::condition_variable wake_;
  std::unique_ptr<Disk> disk_;
  SpaceMarks marks_;
  DiskSpace space_;
  bool held_ = false;
  bool filling_ = false;           // The reserve is being made, without the mutex.
  std::uint32_t pause_looks_ = 0;  // Before it is tried again: it was refused.
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gcoord::ledger
