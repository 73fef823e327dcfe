// The next segment file, zeroed ahead of its use.
//
// Reserved space that was never written makes the first fdatasync over it wait for the file
// system's journal, so segments are filled with zeros before use. Filling 64 MiB at once would
// stall a turn; instead the log fills a little of the spare with every append, on the same thread,
// and the work is the same in a simulation. Segments are never reused: recovery relies on it that
// what was not written reads as zeros.
//
// Where the disk has no room for a whole segment, a short one is made: what it acknowledges lets a
// checkpoint end, and that frees the segments before it. One thread at a time.
#pragma once

#include "common/status.h"
#include "ledger/disk/disk.h"
#include "ledger/disk/room.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace gcoord::ledger {

// A zero-filled file under a provisional name, whose size is durable after its next sync.
struct SpareFile {
  std::unique_ptr<DiskFile> file;
  std::string name;
  std::uint64_t size_bytes = 0;
};

// A short segment has so much, or what its first record takes: a hundredth of an ordinary one, with
// three syncs for hundreds of turns.
inline constexpr std::uint64_t kShortSegmentBytes = std::uint64_t{1} << 20;

class WalSpare {
 public:
  // `room`, unless it is nullptr, is asked before a file is made ahead, and waited for once one is
  // needed; it outlives this.
  WalSpare(Disk& disk, std::uint64_t segment_bytes, DiskRoom* room)
      : disk_(disk), segment_bytes_(segment_bytes), room_(room) {}

  // Removes what an earlier life left behind.
  Status discard();

  // Called while room is waited for (RoomWish::meanwhile).
  void while_full(std::function<Status()> work) { while_full_ = std::move(work); }

  // Fills the next byte_count or more. A full disk is no failure here: take() will say so.
  Status advance(std::uint64_t byte_count);

  // A file of at least needed_bytes: the spare, filled to its end now, a short one where the disk
  // is full, or one made for a record that no ordinary segment holds.
  Result<SpareFile> take(std::uint64_t needed_bytes);

 private:
  Status fill(DiskFile& file, std::uint64_t from, std::uint64_t to);
  RoomWish wish(std::uint64_t wanted_bytes, std::uint64_t least_bytes) const;
  // One that is filled, in place of the spare.
  Result<SpareFile> make(const std::string& name, const RoomWish& wish);
  Result<SpareFile> make_now(const std::string& name, std::uint64_t size_bytes);

  Disk& disk_;
  std::uint64_t segment_bytes_;
  DiskRoom* room_;
  std::function<Status()> while_full_;
  std::unique_ptr<DiskFile> file_;
  std::uint64_t filled_bytes_ = 0;
  std::uint64_t owed_bytes_ = 0;  // Asked for and not yet filled; less than a chunk.
  bool disk_full_ = false;
};

}  // namespace gcoord::ledger
