// Row map: which shards some rows hold, and which row holds which shard.
//
// A node's shards are divided by slices, slice = shard mod 256. A row map owns whole slices, of
// which one log of rows (a turn thread, later a node) keeps the shards. Its rows are dense and
// ascend with their shards:
//
//   row   = shard / 256 * owned + rank of the shard's slice among the owned ones
//   shard = row / owned * 256 + slice of rank (row mod owned)
//
// The last group of 256 shards may be short. It lacks the highest slices, so the owned slices that
// it has are those of the lowest ranks, and rows stay dense. With all slices the map is the
// identity, which costs a comparison; otherwise a multiplication stands for the division.
//
// Rows are a matter of one process: wire, disk and clients know shards. A row is a std::uint32_t
// and a shard a ShardId; nothing but a row map (or ShardRef::shard) makes one of the other. Plain
// value without pointers, host and device; any thread may read it.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/ids.h"

#include <cstdint>

namespace gcoord::consensus {

// Slices of every cluster: the unit in which shards are divided. Never change.
inline constexpr std::uint32_t kSlices = 256;

// Shards that a map can number: up to here the multiplication is exact (RowMap::reciprocal_).
inline constexpr std::uint32_t kShardsMax = 1u << 24;

// The row of a shard that a map does not hold.
inline constexpr std::uint32_t kNoRow = ~std::uint32_t{0};

GCOORD_HD constexpr std::uint32_t slice_of(ShardId shard) {
  return shard.value % kSlices;
}

class RowMap {
 public:
  // All slices: row and shard have the same number. shard_count <= kShardsMax.
  GCOORD_HD explicit RowMap(std::uint32_t shard_count) : shard_count_(shard_count) {
    for (std::uint32_t slice = 0; slice < kSlices; ++slice) {
      add(slice);
    }
    count_rows();
  }

  // The slices given, which ascend; none of them: no rows. shard_count <= kShardsMax.
  GCOORD_HD RowMap(std::uint32_t shard_count, const std::uint8_t* slices, std::uint32_t slice_count)
      : shard_count_(shard_count) {
    for (std::uint32_t slice = 0; slice < kSlices; ++slice) {
      rank_[slice] = kNoRank;
    }
    for (std::uint32_t k = 0; k < slice_count; ++k) {
      GCOORD_ASSERT(k == 0 || slices[k - 1] < slices[k]);
      add(slices[k]);
    }
    count_rows();
  }

  // Shards of the cluster, here or not.
  GCOORD_HD std::uint32_t shard_count() const { return shard_count_; }

  // Shards that are here.
  GCOORD_HD std::uint32_t row_count() const { return row_count_; }

  // Whether every shard of the cluster is here.
  GCOORD_HD bool holds_all() const { return owned_ == kSlices; }

  // kNoRow: the shard is not here, or there is no such shard.
  GCOORD_HD std::uint32_t row_of(ShardId shard) const {
    if (shard.value >= shard_count_) {
      return kNoRow;
    }
    if (owned_ == kSlices) {
      return shard.value;
    }
    const std::uint32_t rank = rank_[slice_of(shard)];
    return rank == kNoRank ? kNoRow : shard.value / kSlices * owned_ + rank;
  }

  // row < row_count().
  GCOORD_HD ShardId shard_of(std::uint32_t row) const {
    GCOORD_ASSERT(row < row_count_);
    if (owned_ == kSlices) {
      return ShardId{row};
    }
    const auto group = static_cast<std::uint32_t>(row * reciprocal_ >> 32);
    return ShardId{group * kSlices + slices_[row - group * owned_]};
  }

 private:
  static constexpr std::uint16_t kNoRank = 0xffff;

  GCOORD_HD void add(std::uint32_t slice) {
    rank_[slice] = static_cast<std::uint16_t>(owned_);
    slices_[owned_] = static_cast<std::uint8_t>(slice);
    ++owned_;
  }

  GCOORD_HD void count_rows() {
    GCOORD_ASSERT(shard_count_ <= kShardsMax);
    row_count_ = shard_count_ / kSlices * owned_;
    for (std::uint32_t k = 0; k < owned_; ++k) {
      row_count_ += slices_[k] < shard_count_ % kSlices ? 1 : 0;
    }
    reciprocal_ = owned_ == 0 ? 0 : ((std::uint64_t{1} << 32) + owned_ - 1) / owned_;
  }

  std::uint32_t shard_count_;
  std::uint32_t row_count_ = 0;
  std::uint32_t owned_ = 0;
  // 2^32 / owned, rounded up by less than 1: row * reciprocal / 2^32 is too large by less than
  // row / 2^32, which stays below 1 / owned for rows below 2^24, so its floor is that of
  // row / owned.
  std::uint64_t reciprocal_ = 0;
  std::uint16_t rank_[kSlices]{};
  std::uint8_t slices_[kSlices]{};  // By rank.
};

static_assert(sizeof(RowMap) == 792);

}  // namespace gcoord::consensus
