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
      return disk_full_ ? Status{} : created.status();
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
    return make(kLargeName, {needed_bytes, needed_bytes, while_full_});
  }
  disk_full_ = false;
  owed_bytes_ = 0;
  if (file_ == nullptr) {
    const std::uint64_t least_bytes =
        std::min(segment_bytes_, std::max(needed_bytes, kShortSegmentBytes));
    return make(kSpareName, {segment_bytes_, least_bytes, while_full_});
  }
  GCOORD_TRY_STATUS(fill(*file_, filled_bytes_, segment_bytes_));
  return SpareFile{std::move(file_), kSpareName, segment_bytes_};
}

Result<SpareFile> WalSpare::make(const std::string& name, const RoomWish& wish) {
  std::uint64_t size_bytes = wish.wanted_bytes;
  if (room_ != nullptr) {
    GCOORD_TRY(size_bytes, room_->await_room(wish));
  }
  GCOORD_ASSERT(size_bytes >= wish.least_bytes && size_bytes <= wish.wanted_bytes);
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
