#include "ledger/cluster/cluster_log.h"

#include "common/assert.h"
#include "ledger/cluster/cluster_record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace gcoord::ledger {

using namespace cluster_record;  // NOLINT: of this file's own records.

namespace {

constexpr const char* kHorizonName = "cluster.horizon";
constexpr const char* kLeavesName = "cluster.leaves";  // With ".N" behind it, or of a single file.
constexpr const char* kTilesName = "cluster.tiles";
constexpr std::size_t kOpenMax = 8;          // Pairs of files at once.
constexpr std::uint64_t kReadAtOnce = 4096;  // Records; 200 KB.

std::string segment_name(const char* name, std::uint64_t number) {
  return std::string(name) + "." + std::to_string(number);
}

// The number of a segment's file; nothing for other files.
std::optional<std::uint64_t> segment_number(const std::string& name) {
  for (const char* kind : {kLeavesName, kTilesName}) {
    const std::string prefix = std::string(kind) + ".";
    std::uint64_t number = 0;
    const char* end = name.data() + name.size();
    if (name.starts_with(prefix) &&
        std::from_chars(name.data() + prefix.size(), end, number).ptr == end) {
      return number;
    }
  }
  return std::nullopt;
}

Result<std::unique_ptr<DiskFile>> open_or_create(Disk& disk,
                                                 const std::string& name,
                                                 bool& created) {
  GCOORD_TRY(const bool exists, disk.exists(name));
  if (exists) {
    return disk.open(name);
  }
  created = true;
  return disk.create(name, 0);
}

}  // namespace

Result<std::unique_ptr<ClusterLog>> ClusterLog::open(Disk& disk,
                                                     std::uint64_t durable_size,
                                                     std::uint64_t segment_leaves) {
  GCOORD_ASSERT(segment_leaves > 0 && segment_leaves % kTileLeaves == 0);
  std::unique_ptr<ClusterLog> log{new ClusterLog(disk, segment_leaves)};
  GCOORD_TRY_STATUS(log->load_horizon());
  GCOORD_TRY_STATUS(log->load(durable_size));
  if (log->size_ == 0) {
    GCOORD_TRY_STATUS(log->take_over_single_file(durable_size));
  }
  return log;
}

// --- Segments

Result<ClusterLog::Segment*> ClusterLog::segment(std::uint64_t number) const {
  if (const auto found = open_.find(number); found != open_.end()) {
    return &found->second;
  }
  for (auto each = open_.begin(); each != open_.end() && open_.size() >= kOpenMax;) {
    each = unsynced_.contains(each->first) ? std::next(each) : open_.erase(each);
  }
  Segment opened;
  GCOORD_TRY(opened.leaves, open_or_create(disk_, segment_name(kLeavesName, number), created_));
  GCOORD_TRY(opened.tiles, open_or_create(disk_, segment_name(kTilesName, number), created_));
  return &open_.emplace(number, std::move(opened)).first->second;
}

Result<bool> ClusterLog::has_segment(std::uint64_t number) const {
  return disk_.exists(segment_name(kLeavesName, number));
}

// Those below a number, and of no others.
Status ClusterLog::remove_segments(std::uint64_t below) {
  GCOORD_TRY(const std::vector<std::string> names, disk_.list());
  open_.erase(open_.begin(), open_.lower_bound(below));
  unsynced_.erase(unsynced_.begin(), unsynced_.lower_bound(below));
  for (const std::string& name : names) {
    const auto number = segment_number(name);
    if (number && *number < below) {
      GCOORD_TRY_STATUS(disk_.remove(name));
    }
  }
  return disk_.sync_directory();
}

std::uint64_t ClusterLog::disk_bytes() const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t leaves = size_ - first_;
  return leaves * kLeafRecordBytes + leaves / kTileLeaves * kTileRecordBytes;
}

// --- Opening

Status ClusterLog::load_horizon() {
  GCOORD_TRY(const bool exists, disk_.exists(kHorizonName));
  if (!exists) {
    return Status{};
  }
  GCOORD_TRY(const auto file, disk_.open(kHorizonName));
  GCOORD_TRY_STATUS(file->drop_cached());
  GCOORD_TRY(const auto bytes, read_all(*file));
  const auto horizon = decode_horizon(bytes);
  if (!horizon || horizon->first % segment_leaves_ != 0) {
    return Status{
        StatusCode::DataLoss,
        "the file with the beginning of the cluster log is damaged" + std::string(kRotAdvice),
        kClusterLogRot};
  }
  take_horizon(*horizon);
  // A crash may have come between the horizon and the end of what lies below it.
  return remove_segments(first_ / segment_leaves_);
}

Status ClusterLog::load(std::uint64_t durable_size) {
  for (std::uint64_t number = first_ / segment_leaves_;; ++number) {
    GCOORD_TRY(const bool exists, has_segment(number));
    if (!exists) {
      return Status{};
    }
    GCOORD_TRY_STATUS(load_segment(number, durable_size));
    if (size_ < (number + 1) * segment_leaves_) {
      return Status{};
    }
  }
}

Status ClusterLog::load_segment(std::uint64_t number, std::uint64_t durable_size) {
  GCOORD_TRY(Segment* const files, segment(number));
  GCOORD_TRY_STATUS(files->leaves->drop_cached());
  GCOORD_TRY_STATUS(files->tiles->drop_cached());
  GCOORD_TRY(const std::uint64_t bytes, files->leaves->size_bytes());
  const std::uint64_t begin = number * segment_leaves_;
  const std::uint64_t end = begin + std::min(bytes / kLeafRecordBytes, segment_leaves_);
  GCOORD_TRY_STATUS(load_tiles(*files, begin, std::min(end, durable_size)));
  return load_tail(*files, end, durable_size);
}

// Tiles whose leaves were synced, as far as they are whole themselves; what follows is made from
// its leaves again: a tile may have reached the disk before them.
Status ClusterLog::load_tiles(Segment& files, std::uint64_t begin, std::uint64_t end) {
  GCOORD_TRY(const auto bytes, read_all(*files.tiles));
  const std::uint64_t whole = end > begin ? (end - begin) / kTileLeaves : 0;
  const std::uint64_t count = std::min<std::uint64_t>(bytes.size() / kTileRecordBytes, whole);
  for (std::uint64_t k = 0; k < count; ++k) {
    const auto record = std::span(bytes).subspan(k * kTileRecordBytes, kTileRecordBytes);
    if (!sealed(size_ / kTileLeaves, record)) {
      break;
    }
    MerkleHash root;
    std::copy_n(record.begin(), root.size(), root.begin());
    push_tile(root);
    size_ += kTileLeaves;
  }
  return Status{};
}

Status ClusterLog::load_tail(Segment& files, std::uint64_t end, std::uint64_t durable_size) {
  const std::uint64_t begin = end == 0 ? 0 : (end - 1) / segment_leaves_ * segment_leaves_;
  std::vector<std::byte> records(kReadAtOnce * kLeafRecordBytes);
  for (bool torn = false; size_ < end && !torn;) {
    const std::uint64_t count = std::min(kReadAtOnce, end - size_);
    const auto span = std::span(records).first(count * kLeafRecordBytes);
    GCOORD_TRY(const std::size_t read,
               files.leaves->read((size_ - begin) * kLeafRecordBytes, span));
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
  return size_ < std::min(durable_size, end) ? rot(size_) : Status{};
}

// The layout of before: one file of leaves, whatever there were.
Status ClusterLog::take_over_single_file(std::uint64_t durable_size) {
  GCOORD_TRY(const bool exists, disk_.exists(kLeavesName));
  if (!exists) {
    return Status{};
  }
  GCOORD_TRY(const auto file, disk_.open(kLeavesName));
  GCOORD_TRY_STATUS(file->drop_cached());
  GCOORD_TRY(const std::uint64_t bytes, file->size_bytes());
  const std::uint64_t count = bytes / kLeafRecordBytes;
  std::vector<std::byte> record(kLeafRecordBytes);
  std::vector<ShardHead> heads;
  for (std::uint64_t index = 0; index < count; ++index) {
    GCOORD_TRY(const std::size_t read, file->read(index * kLeafRecordBytes, record));
    if (read != record.size() || !sealed(index, record)) {
      if (index < std::min(durable_size, count)) {
        return rot(index);
      }
      break;
    }
    GCOORD_TRY(const ShardHead head, decode_head(std::span(record).first(kShardHeadBytes)));
    heads.push_back(head);
    if (heads.size() == kReadAtOnce) {
      GCOORD_TRY_STATUS(append_locked(heads));
      heads.clear();
    }
  }
  GCOORD_TRY_STATUS(append_locked(heads));
  GCOORD_TRY_STATUS(sync_locked());
  GCOORD_TRY_STATUS(disk_.remove(kTilesName));
  GCOORD_TRY_STATUS(disk_.remove(kLeavesName));
  return disk_.sync_directory();
}

// --- The tree above tiles

// Pushes up to a level, and returns how far whole pairs led: the level after the last one.
std::size_t ClusterLog::push_within(std::size_t level, std::size_t end, const MerkleHash& root) {
  MerkleHash hash = root;
  for (;; ++level) {
    if (level == end) {
      return level;
    }
    if (upper_.size() == level) {
      upper_.emplace_back();
    }
    std::vector<MerkleHash>& hashes = upper_[level].hashes;
    hashes.push_back(hash);
    if (hashes.size() % 2 != 0) {  // Its base is even.
      return level;
    }
    hash = hash_node(hashes[hashes.size() - 2], hashes.back());
  }
}

void ClusterLog::push_tile(const MerkleHash& root) {
  push_within(0, ~std::size_t{0}, root);
}

void ClusterLog::take_horizon(const ClusterHorizon& horizon) {
  GCOORD_ASSERT(sane(horizon));
  upper_.clear();
  first_ = horizon.first;
  size_ = horizon.first;
  const std::size_t levels = horizon.groups.size() * kHorizonLevels;
  upper_.resize(levels);
  drop_below(first_);
  for (std::size_t g = 0; g < horizon.groups.size(); ++g) {
    for (const MerkleHash& hash : horizon.groups[g]) {
      push_within(g * kHorizonLevels, (g + 1) * kHorizonLevels, hash);
    }
  }
}

// Of each level, from the beginning of the tile of its group in which `first` lies.
void ClusterLog::drop_below(std::uint64_t first) {
  for (std::size_t l = 0; l < upper_.size(); ++l) {
    const std::size_t group_shift = kHorizonLevels * (l / kHorizonLevels + 2);
    const std::uint64_t leaf = group_shift < 64 ? first >> group_shift << group_shift : 0;
    Level& level = upper_[l];
    const std::uint64_t base = std::max(level.base, leaf >> (kTileLevel + l));
    const auto gone = std::min<std::uint64_t>(base - level.base, level.hashes.size());
    level.hashes.erase(level.hashes.begin(),
                       level.hashes.begin() + static_cast<std::ptrdiff_t>(gone));
    level.hashes.shrink_to_fit();
    level.base = base;
  }
}

ClusterHorizon ClusterLog::horizon_at(std::uint64_t first) const {
  ClusterHorizon horizon{.first = first, .groups = {}};
  for (std::size_t g = 0; g < horizon_groups(first); ++g) {
    const Level& level = upper_[g * kHorizonLevels];
    const std::uint64_t end = first >> (kHorizonLevels * (g + 1));
    const std::uint64_t begin = end - horizon_count(first, g);
    GCOORD_ASSERT(begin >= level.base && end - level.base <= level.hashes.size());
    const auto from = level.hashes.begin() + static_cast<std::ptrdiff_t>(begin - level.base);
    horizon.groups.emplace_back(from, from + static_cast<std::ptrdiff_t>(end - begin));
  }
  return horizon;
}

ClusterHorizon ClusterLog::horizon() const {
  const std::lock_guard lock(mutex_);
  return horizon_at(first_);
}

// --- Changing

Status ClusterLog::close_tile(std::uint64_t tile) {
  GCOORD_TRY(auto hashes, leaf_hashes(tile * kTileLeaves, kTileLeaves));
  const MerkleHash root = join(std::move(hashes));
  std::array<std::byte, kTileRecordBytes> record;
  std::ranges::copy(root, record.begin());
  seal(tile, record);
  const std::uint64_t tiles = segment_leaves_ / kTileLeaves;
  GCOORD_TRY(Segment* const files, segment(tile / tiles));
  unsynced_.insert(tile / tiles);
  GCOORD_TRY_STATUS(files->tiles->write(tile % tiles * kTileRecordBytes, record));
  push_tile(root);
  return Status{};
}

Status ClusterLog::append(std::span<const ShardHead> leaves) {
  const std::lock_guard lock(mutex_);
  return append_locked(leaves);
}

Status ClusterLog::append_locked(std::span<const ShardHead> leaves) {
  while (!leaves.empty()) {
    const std::uint64_t number = size_ / segment_leaves_;
    const std::uint64_t place = size_ % segment_leaves_;
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(leaves.size(), segment_leaves_ - place));
    std::vector<std::byte> records(count * kLeafRecordBytes);
    for (std::size_t k = 0; k < count; ++k) {
      const auto record = std::span(records).subspan(k * kLeafRecordBytes, kLeafRecordBytes);
      std::ranges::copy(encode_head(leaves[k]), record.begin());
      seal(size_ + k, record);
    }
    GCOORD_TRY(Segment* const files, segment(number));
    unsynced_.insert(number);
    GCOORD_TRY_STATUS(files->leaves->write(place * kLeafRecordBytes, records));
    const std::uint64_t whole = size_ / kTileLeaves;
    size_ += count;
    for (std::uint64_t tile = whole; tile < size_ / kTileLeaves; ++tile) {
      GCOORD_TRY_STATUS(close_tile(tile));
    }
    leaves = leaves.subspan(count);
  }
  return Status{};
}

Status ClusterLog::sync() {
  const std::lock_guard lock(mutex_);
  return sync_locked();
}

Status ClusterLog::sync_locked() {
  for (const std::uint64_t number : unsynced_) {
    Segment& files = open_.at(number);
    GCOORD_TRY_STATUS(files.leaves->sync());
    GCOORD_TRY_STATUS(files.tiles->sync());
  }
  unsynced_.clear();
  return std::exchange(created_, false) ? disk_.sync_directory() : Status{};
}

// The horizon first: what it does not name is not missed if this ends in between.
Result<std::uint64_t> ClusterLog::prune(std::uint64_t wanted) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t next = std::min(wanted, size_) / segment_leaves_ * segment_leaves_;
  if (next <= first_) {
    return std::uint64_t{0};
  }
  GCOORD_TRY_STATUS(sync_locked());
  GCOORD_TRY_STATUS(write_atomically(disk_, kHorizonName, encode(horizon_at(next))));
  const std::uint64_t gone = next - first_;
  first_ = next;
  drop_below(next);
  GCOORD_TRY_STATUS(remove_segments(next / segment_leaves_));
  return gone;
}

Status ClusterLog::begin_at(const ClusterHorizon& horizon) {
  const std::lock_guard lock(mutex_);
  GCOORD_ASSERT(sane(horizon) && horizon.first > size_ && horizon.first % segment_leaves_ == 0);
  GCOORD_TRY_STATUS(write_atomically(disk_, kHorizonName, encode(horizon)));
  take_horizon(horizon);
  return remove_segments(first_ / segment_leaves_);
}

std::uint64_t ClusterLog::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

std::uint64_t ClusterLog::first() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

}  // namespace gcoord::ledger
