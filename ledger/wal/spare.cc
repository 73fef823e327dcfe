#include "ledger/wal/spare.h"

#include "common/assert.h"

#include <algorithm>
#include <array>

namespace gcoord::ledger {
namespace {

constexpr const char* kSpareName = "wal-spare.tmp";
constexpr const char* kLargeName = "wal-large.tmp";

// 1 MiB: a sync of so much takes about as long as that of a busy turn on the disks measured.
constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 20;
constexpr std::array<std::byte, 64 << 10> kZeros{};

}  // namespace

Status WalSpare::discard() {
  GCOORD_TRY_STATUS(disk_.remove(kSpareName));
  return disk_.remove(kLargeName);
}

Status WalSpare::advance(std::uint64_t byte_count) {
  owed_bytes_ += byte_count;
  if (disk_full_ || owed_bytes_ < std::min(kChunkBytes, segment_bytes_)) {
    return Status{};
  }
  if (file_ == nullptr) {
    if (room_ != nullptr && !room_->has(segment_bytes_)) {
      owed_bytes_ = 0;  // The next chunk asks again.
      return Status{};
    }
    auto created = disk_.create(kSpareName, segment_bytes_);
    if (!created.ok()) {
      disk_full_ = created.status().code() == StatusCode::ResourceExhausted;
      // Some of it may be there, which is what take() may wait for.
      return disk_full_ ? disk_.remove(kSpareName) : created.status();
    }
    file_ = std::move(created).value();
    filled_bytes_ = 0;
  }
  const std::uint64_t to = std::min(segment_bytes_, filled_bytes_ + owed_bytes_);
  owed_bytes_ = 0;
  if (to == filled_bytes_) {
    return Status{};
  }
  GCOORD_TRY_STATUS(fill(*file_, filled_bytes_, to));
  filled_bytes_ = to;
  return file_->sync();
}

Result<SpareFile> WalSpare::take(std::uint64_t needed_bytes) {
  if (needed_bytes > segment_bytes_) {
    return make(kLargeName, wish(needed_bytes, needed_bytes));
  }
  disk_full_ = false;
  owed_bytes_ = 0;
  if (file_ == nullptr) {
    const std::uint64_t least_bytes =
        std::min(segment_bytes_, std::max(needed_bytes, kShortSegmentBytes));
    return make(kSpareName, wish(segment_bytes_, least_bytes));
  }
  GCOORD_TRY_STATUS(fill(*file_, filled_bytes_, segment_bytes_));
  return SpareFile{std::move(file_), kSpareName, segment_bytes_};
}

RoomWish WalSpare::wish(std::uint64_t wanted_bytes, std::uint64_t least_bytes) const {
  return {.wanted_bytes = wanted_bytes,
          .least_bytes = least_bytes,
          .makes_file = true,
          .meanwhile = while_full_};
}

// Another program may take the room between the look at it and the file. Nothing of the file is
// anybody's yet, so it is made again.
Result<SpareFile> WalSpare::make(const std::string& name, const RoomWish& wish) {
  for (;;) {
    std::uint64_t size_bytes = wish.wanted_bytes;
    if (room_ != nullptr) {
      GCOORD_TRY(size_bytes, room_->await_room(wish));
    }
    GCOORD_ASSERT(size_bytes >= wish.least_bytes && size_bytes <= wish.wanted_bytes);
    auto made = make_now(name, size_bytes);
    const bool refused = made.status().code() == StatusCode::ResourceExhausted;
    if (!refused || room_ == nullptr) {
      return made;
    }
    GCOORD_TRY_STATUS(disk_.remove(name));
    if (wish.meanwhile) {
      GCOORD_TRY_STATUS(wish.meanwhile());
    }
    if (!room_->await_after_refusal()) {
      return made;
    }
  }
}

Result<SpareFile> WalSpare::make_now(const std::string& name, std::uint64_t size_bytes) {
  GCOORD_TRY(auto file, disk_.create(name, size_bytes));
  GCOORD_TRY_STATUS(fill(*file, 0, size_bytes));
  return SpareFile{std::move(file), name, size_bytes};
}

Status WalSpare::fill(DiskFile& file, std::uint64_t from, std::uint64_t to) {
  while (from < to) {
    const std::uint64_t byte_count = std::min<std::uint64_t>(kZeros.size(), to - from);
    GCOORD_TRY_STATUS(file.write(from, std::span{kZeros}.first(byte_count)));
    from += byte_count;
  }
  return Status{};
}

}  // namespace gcoord::ledger
