// The host's owner of a MovingIndex: keeps it at most half full by doubling, without a stall.
//
// A doubled table takes over from the old one bucket by bucket, kMovesPerCall per reserve(); at
// least two per added row are needed to be done before the next doubling. Moving needs (hash, row)
// pairs only; keys are not touched. The view changes with reserve(); views taken before are void.
// Host only; one thread.
#pragma once

#include "common/assert.h"
#include "locks/hash_index.h"
#include "locks/mapped_column.h"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace gcoord::locks {

class GrowingIndex {
 public:
  // More than the two buckets per row that keep pace; each costs about one cache miss.
  static constexpr std::uint32_t kMovesPerCall = 8;

  // Room for this many rows, and a few steps of a move under way.
  void reserve(std::size_t row_count) {
    const std::size_t bucket_count = std::size_t{2} * std::bit_ceil(row_count);
    if (bucket_count > buckets_.size()) [[unlikely]] {
      grow(bucket_count);
    }
    if (moving()) [[unlikely]] {
      move(kMovesPerCall);
    }
  }

  const MovingIndex& view() const { return view_; }

  bool moving() const { return view_.previous.buckets != nullptr; }

  std::size_t memory_bytes() const {
    return buckets_.memory_bytes() + previous_buckets_.memory_bytes();
  }

 private:
  void grow(std::size_t bucket_count) {
    GCOORD_ASSERT(bucket_count <= std::size_t{1} << 32);  // A bucket's home has 32 bits.
    while (moving()) {
      move(kMovesPerCall);
    }
    previous_buckets_.swap(buckets_);
    buckets_.resize(bucket_count);
    view_.previous = view_.current;
    view_.current = {buckets_.data(), static_cast<std::uint32_t>(bucket_count - 1)};
    next_ = 0;
  }

  // Moves from the table's start. Erasing pulls followers of the run into the bucket just emptied,
  // so that bucket is looked at again. Nothing comes to lie behind `next_`: entries move only into
  // gaps, and gaps open only where entries were.
  void move(std::uint32_t steps) {
    const HashIndex& previous = view_.previous;
    for (std::uint32_t step = 0; step < steps; ++step) {
      if (next_ > previous.mask) {
        view_.previous = HashIndex{};
        previous_buckets_.clear();
        return;
      }
      const HashIndex::Bucket bucket = previous.buckets[next_];
      if (bucket.row == 0) {
        ++next_;
        continue;
      }
      view_.current.insert(bucket.hash, bucket.row);
      const bool erased = previous.erase(bucket.hash, bucket.row);
      GCOORD_ASSERT(erased);
    }
  }

  MappedColumn<HashIndex::Bucket> buckets_;
  MappedColumn<HashIndex::Bucket> previous_buckets_;
  MovingIndex view_;
  std::size_t next_ = 0;  // Buckets of the previous table below it are empty.
};

}  // namespace gcoord::locks
