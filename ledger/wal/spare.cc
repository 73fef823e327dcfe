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

Result<SpareFile> WalSpare::take(std::uint64_t segment_bytes) {
  GCOORD_ASSERT(segment_bytes >= segment_bytes_);
  if (segment_bytes > segment_bytes_) {
    GCOORD_TRY(auto large, create(kLargeName, segment_bytes));
    GCOORD_TRY_STATUS(fill(*large, 0, segment_bytes));
    return SpareFile{std::move(large), kLargeName};
  }
  if (file_ == nullptr) {
    GCOORD_TRY(file_, create(kSpareName, segment_bytes_));
    filled_bytes_ = 0;
  }
  GCOORD_TRY_STATUS(fill(*file_, filled_bytes_, segment_bytes_));
  disk_full_ = false;
  owed_bytes_ = 0;
  return SpareFile{std::move(file_), kSpareName};
}

Result<std::unique_ptr<DiskFile>> WalSpare::create(const std::string& name,
                                                   std::uint64_t size_bytes) {
  if (room_ != nullptr) {
    GCOORD_TRY_STATUS(room_->await(size_bytes));
  }
  return disk_.create(name, size_bytes);
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
