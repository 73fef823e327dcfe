// What the cluster log shows: leaves from its files, hashes from memory or from leaves.
#include "ledger/cluster/cluster_log.h"
#include "ledger/cluster/cluster_record.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::ledger {

using namespace cluster_record;  // NOLINT: of this log's own records.

namespace {

Status beyond(std::uint64_t index, std::uint64_t count) {
  return Status{StatusCode::InvalidArgument,
                "the cluster log has no " + std::to_string(count) + " of these from " +
                    std::to_string(index) + " on",
                kLedgerBeyond};
}

Status pruned(std::uint64_t first) {
  return Status{StatusCode::OutOfRange,
                "the cluster log is kept from leaf " + std::to_string(first) +
                    " on, with the hashes to prove it",
                kLedgerPruned};
}

}  // namespace

Result<std::vector<std::byte>> ClusterLog::read_leaves(std::uint64_t index,
                                                       std::uint64_t count) const {
  if (index < first_ && count > 0) {
    return pruned(first_);
  }
  std::vector<std::byte> records(count * kLeafRecordBytes);
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t at = index + done;
    const std::uint64_t place = at % segment_leaves_;
    const std::uint64_t some = std::min(count - done, segment_leaves_ - place);
    GCOORD_TRY(Segment* const files, segment(at / segment_leaves_));
    const auto span = std::span(records).subspan(done * kLeafRecordBytes, some * kLeafRecordBytes);
    GCOORD_TRY(const std::size_t read, files->leaves->read(place * kLeafRecordBytes, span));
    for (std::uint64_t k = 0; k < some; ++k) {
      const auto record = span.subspan(k * kLeafRecordBytes, kLeafRecordBytes);
      if ((k + 1) * kLeafRecordBytes > read || !sealed(at + k, record)) {
        return rot(at + k);
      }
    }
    done += some;
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
    const Level& row = upper_[level - kTileLevel];
    if (index < row.base) {
      return pruned(first_);
    }
    const auto first = row.hashes.begin() + static_cast<std::ptrdiff_t>(index - row.base);
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
