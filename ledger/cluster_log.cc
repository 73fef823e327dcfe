#include "ledger/cluster_log.h"

#include "common/assert.h"
#include "common/crc32c.h"
#include "ledger/byte_order.h"
#include "ledger/error_details.h"

#include <algorithm>
#include <array>
#include <string>

namespace gcoord::ledger {
namespace {

constexpr const char* kLeavesName = "cluster.leaves";
constexpr const char* kTilesName = "cluster.tiles";
constexpr std::size_t kCrcBytes = 4;
constexpr std::size_t kLeafRecordBytes = kShardHeadBytes + kCrcBytes;
constexpr std::size_t kTileRecordBytes = kMerkleHashBytes + kCrcBytes;
constexpr std::uint32_t kTileLevel = 8;
constexpr std::uint64_t kTileLeaves = 1u << kTileLevel;
constexpr std::uint64_t kReadAtOnce = 4096;  // Records; 200 KB.

static_assert(kLeafRecordBytes == 48 && kTileRecordBytes == 36);

// A record's place is under its checksum, so that one that strayed is found.
std::uint32_t checksum(std::uint64_t index, std::span<const std::byte> bytes) {
  std::array<std::byte, 8> place;
  store(place.data(), index);
  return crc32c(bytes, crc32c(place));
}

void seal(std::uint64_t index, std::span<std::byte> record) {
  const auto body = record.first(record.size() - kCrcBytes);
  store(&record[body.size()], checksum(index, body));
}

bool sealed(std::uint64_t index, std::span<const std::byte> record) {
  const auto body = record.first(record.size() - kCrcBytes);
  return load<std::uint32_t>(&record[body.size()]) == checksum(index, body);
}

Status rot(std::uint64_t index) {
  return Status{StatusCode::DataLoss,
                "leaf " + std::to_string(index) + " of the cluster log is damaged" + kRotAdvice,
                kClusterLogRot};
}

Status beyond(std::uint64_t index, std::uint64_t count) {
  return Status{StatusCode::InvalidArgument,
                "the cluster log has no " + std::to_string(count) + " of these from " +
                    std::to_string(index) + " on",
                kLedgerBeyond};
}

Result<std::unique_ptr<DiskFile>> open_or_create(Disk& disk, const char* name) {
  GCOORD_TRY(const bool exists, disk.exists(name));
  if (exists) {
    return disk.open(name);
  }
  GCOORD_TRY(auto file, disk.create(name, 0));
  GCOORD_TRY_STATUS(disk.sync_directory());
  return file;
}

// The root of a perfect tree over these hashes, a power of two of them.
MerkleHash join(std::vector<MerkleHash> hashes) {
  while (hashes.size() > 1) {
    for (std::size_t k = 0; k < hashes.size() / 2; ++k) {
      hashes[k] = hash_node(hashes[2 * k], hashes[2 * k + 1]);
    }
    hashes.resize(hashes.size() / 2);
  }
  return hashes.front();
}

}  // namespace

Result<std::unique_ptr<ClusterLog>> ClusterLog::open(Disk& disk, std::uint64_t durable_size) {
  std::unique_ptr<ClusterLog> log{new ClusterLog()};
  GCOORD_TRY(log->leaves_, open_or_create(disk, kLeavesName));
  GCOORD_TRY(log->tiles_, open_or_create(disk, kTilesName));
  GCOORD_TRY_STATUS(log->leaves_->drop_cached());
  GCOORD_TRY_STATUS(log->tiles_->drop_cached());
  GCOORD_TRY(const std::uint64_t bytes, log->leaves_->size_bytes());
  const std::uint64_t leaf_count = bytes / kLeafRecordBytes;
  GCOORD_TRY_STATUS(log->load_tiles(std::min(leaf_count, durable_size)));
  GCOORD_TRY_STATUS(log->load_tail(leaf_count, durable_size));
  return log;
}

// Tiles whose leaves were synced, as far as they are whole themselves; what follows is made from
// its leaves again: a tile may have reached the disk before them.
Status ClusterLog::load_tiles(std::uint64_t leaf_count) {
  GCOORD_TRY(const auto bytes, read_all(*tiles_));
  const std::uint64_t count =
      std::min<std::uint64_t>(bytes.size() / kTileRecordBytes, leaf_count / kTileLeaves);
  for (std::uint64_t tile = 0; tile < count; ++tile) {
    const auto record = std::span(bytes).subspan(tile * kTileRecordBytes, kTileRecordBytes);
    if (!sealed(tile, record)) {
      break;
    }
    MerkleHash root;
    std::copy_n(record.begin(), root.size(), root.begin());
    push_tile(root);
    size_ += kTileLeaves;
  }
  return Status{};
}

Status ClusterLog::load_tail(std::uint64_t leaf_count, std::uint64_t durable_size) {
  std::vector<std::byte> records(kReadAtOnce * kLeafRecordBytes);
  for (bool torn = false; size_ < leaf_count && !torn;) {
    const std::uint64_t count = std::min(kReadAtOnce, leaf_count - size_);
    const auto span = std::span(records).first(count * kLeafRecordBytes);
    GCOORD_TRY(const std::size_t read, leaves_->read(size_ * kLeafRecordBytes, span));
    for (std::uint64_t k = 0; k < count; ++k) {
      const auto record = span.subspan(k * kLeafRecordBytes, kLeafRecordBytes);
      torn = (k + 1) * kLeafRecordBytes > read || !sealed(size_, record);
      if (torn) {
        break;
      }
      ++size_;
      if (size_ % kTileLeaves == 0) {
        GCOORD_TRY_STATUS(close_tile(size_ / kTileLeaves - 1));
      }
    }
  }
  return size_ < std::min(durable_size, leaf_count) ? rot(size_) : Status{};
}

void ClusterLog::push_tile(const MerkleHash& root) {
  MerkleHash hash = root;
  for (std::size_t level = 0;; ++level) {
    if (upper_.size() == level) {
      upper_.emplace_back();
    }
    std::vector<MerkleHash>& hashes = upper_[level];
    hashes.push_back(hash);
    if (hashes.size() % 2 != 0) {
      return;
    }
    hash = hash_node(hashes[hashes.size() - 2], hashes.back());
  }
}

Status ClusterLog::close_tile(std::uint64_t tile) {
  GCOORD_TRY(auto hashes, leaf_hashes(tile * kTileLeaves, kTileLeaves));
  const MerkleHash root = join(std::move(hashes));
  std::array<std::byte, kTileRecordBytes> record;
  std::ranges::copy(root, record.begin());
  seal(tile, record);
  GCOORD_TRY_STATUS(tiles_->write(tile * kTileRecordBytes, record));
  push_tile(root);
  return Status{};
}

Status ClusterLog::append(std::span<const ShardHead> leaves) {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte> records(leaves.size() * kLeafRecordBytes);
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const auto record = std::span(records).subspan(k * kLeafRecordBytes, kLeafRecordBytes);
    std::ranges::copy(encode_head(leaves[k]), record.begin());
    seal(size_ + k, record);
  }
  GCOORD_TRY_STATUS(leaves_->write(size_ * kLeafRecordBytes, records));
  const std::uint64_t whole = size_ / kTileLeaves;
  size_ += leaves.size();
  for (std::uint64_t tile = whole; tile < size_ / kTileLeaves; ++tile) {
    GCOORD_TRY_STATUS(close_tile(tile));
  }
  return Status{};
}

Status ClusterLog::sync() {
  const std::lock_guard lock(mutex_);
  GCOORD_TRY_STATUS(leaves_->sync());
  return tiles_->sync();
}

std::uint64_t ClusterLog::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

Result<std::vector<std::byte>> ClusterLog::read_leaves(std::uint64_t index,
                                                       std::uint64_t count) const {
  std::vector<std::byte> records(count * kLeafRecordBytes);
  GCOORD_TRY(const std::size_t read, leaves_->read(index * kLeafRecordBytes, records));
  for (std::uint64_t k = 0; k < count; ++k) {
    const auto record = std::span(records).subspan(k * kLeafRecordBytes, kLeafRecordBytes);
    if ((k + 1) * kLeafRecordBytes > read || !sealed(index + k, record)) {
      return rot(index + k);
    }
  }
  return records;
}

Result<std::vector<MerkleHash>> ClusterLog::leaf_hashes(std::uint64_t index,
                                                        std::uint64_t count) const {
  GCOORD_TRY(const auto records, read_leaves(index, count));
  std::vector<MerkleHash> hashes(count);
  for (std::uint64_t k = 0; k < count; ++k) {
    hashes[k] = hash_leaf(std::span(records).subspan(k * kLeafRecordBytes, kShardHeadBytes));
  }
  return hashes;
}

// A subtree that lies within a tile.
Result<MerkleHash> ClusterLog::subtree(std::uint32_t level, std::uint64_t index) const {
  GCOORD_TRY(auto hashes, leaf_hashes(index << level, std::uint64_t{1} << level));
  return join(std::move(hashes));
}

Result<std::vector<MerkleHash>> ClusterLog::hashes(std::uint32_t level,
                                                   std::uint64_t index,
                                                   std::size_t count) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t there = level < 64 ? size_ >> level : 0;
  if (index > there || count > there - index) {
    return beyond(index, count);
  }
  if (level >= kTileLevel && count > 0) {
    const auto& row = upper_[level - kTileLevel];
    const auto first = row.begin() + static_cast<std::ptrdiff_t>(index);
    return std::vector<MerkleHash>(first, first + static_cast<std::ptrdiff_t>(count));
  }
  if (level == 0) {
    return leaf_hashes(index, count);
  }
  std::vector<MerkleHash> hashes;
  for (std::size_t k = 0; k < count; ++k) {
    GCOORD_TRY(const MerkleHash hash, subtree(level, index + k));
    hashes.push_back(hash);
  }
  return hashes;
}

Result<std::vector<std::vector<std::byte>>> ClusterLog::entries(std::uint64_t index,
                                                                std::size_t count) const {
  const std::lock_guard lock(mutex_);
  if (index > size_ || count > size_ - index) {
    return beyond(index, count);
  }
  GCOORD_TRY(const auto records, read_leaves(index, count));
  std::vector<std::vector<std::byte>> entries;
  for (std::size_t k = 0; k < count; ++k) {
    const auto leaf = std::span(records).subspan(k * kLeafRecordBytes, kShardHeadBytes);
    entries.emplace_back(leaf.begin(), leaf.end());
  }
  return entries;
}

}  // namespace gcoord::ledger
