// A hash index over the rows of a pool: open addressing, linear probing, no tombstones.
//
// A bucket holds 32 bits of the key's hash and a row number; keys themselves stay in the rows, so
// the caller says with a functor whether a row has the wanted key. Removal shifts followers back
// (Knuth, The Art of Computer Programming 3, section 6.4, algorithm R), so probe lengths depend on
// what is present only. At most half full: the owner grows before that. The hash must be keyed with
// a seed that clients do not know, because they choose names. A view over memory of the owner; one
// writer; host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"

#include <cstdint>

namespace gcoord::locks {

// Longest run of full buckets. Half full with a good hash, a run of length k has probability
// e^(-0.19 k) (Knuth, section 6.4, exercise on linear probing), so 256 is never met.
inline constexpr std::uint32_t kProbeMax = 256;

struct HashIndex {
  struct Bucket {
    std::uint32_t hash = 0;
    std::uint32_t row = 0;  // 0: the bucket is empty.
  };

  Bucket* buckets = nullptr;
  std::uint32_t mask = 0;  // Bucket count - 1; the count is a power of two.

  // The row for which same(row) holds among those with this hash, or 0.
  template <typename Same>
  GCOORD_HD std::uint32_t find(std::uint32_t hash, const Same& same) const {
    for (std::uint32_t probe = 0; probe < kProbeMax; ++probe) {
      const Bucket bucket = buckets[(hash + probe) & mask];
      if (bucket.row == 0) {
        return 0;
      }
      if (bucket.hash == hash && same(bucket.row)) {
        return bucket.row;
      }
    }
    return 0;
  }

  // Adds a row whose key is absent; the owner has kept the index at most half full.
  GCOORD_HD void insert(std::uint32_t hash, std::uint32_t row) const {
    GCOORD_ASSERT(row != 0);
    for (std::uint32_t probe = 0; probe < kProbeMax; ++probe) {
      Bucket& bucket = buckets[(hash + probe) & mask];
      if (bucket.row == 0) {
        bucket = Bucket{hash, row};
        return;
      }
    }
    GCOORD_ASSERT(false);  // No free bucket: the owner let the index grow too full.
  }

  // Removes a row; false when it is absent.
  GCOORD_HD bool erase(std::uint32_t hash, std::uint32_t row) const {
    for (std::uint32_t probe = 0; probe < kProbeMax; ++probe) {
      const std::uint32_t position = (hash + probe) & mask;
      if (buckets[position].row == row) {
        close_gap(position);
        return true;
      }
      if (buckets[position].row == 0) {
        return false;
      }
    }
    return false;
  }

 private:
  // Moves each follower of the run back into the gap unless its home lies behind the gap.
  GCOORD_HD void close_gap(std::uint32_t gap) const {
    std::uint32_t next = gap;
    for (std::uint32_t step = 0; step < 2 * kProbeMax; ++step) {
      next = (next + 1) & mask;
      const Bucket bucket = buckets[next];
      if (bucket.row == 0) {
        break;
      }
      const std::uint32_t distance_home = (next - bucket.hash) & mask;
      const std::uint32_t distance_gap = (next - gap) & mask;
      if (distance_home >= distance_gap) {
        buckets[gap] = bucket;
        gap = next;
      }
    }
    buckets[gap] = Bucket{};
  }
};

// An index on its way from a small table to a large one: rows are added to the large one, and
// looked for in both. The host moves a few buckets per command (growing_index.h), because moving
// all at once would stall the node.
struct MovingIndex {
  HashIndex current;
  HashIndex previous;  // Without buckets when nothing is left to move.

  template <typename Same>
  GCOORD_HD std::uint32_t find(std::uint32_t hash, const Same& same) const {
    const std::uint32_t row = current.find(hash, same);
    return row != 0 || previous.buckets == nullptr ? row : previous.find(hash, same);
  }

  GCOORD_HD void insert(std::uint32_t hash, std::uint32_t row) const { current.insert(hash, row); }

  // Removes a row that is present.
  GCOORD_HD void erase(std::uint32_t hash, std::uint32_t row) const {
    if (current.erase(hash, row)) {
      return;
    }
    GCOORD_ASSERT(previous.buckets != nullptr);
    const bool erased = previous.erase(hash, row);
    GCOORD_ASSERT(erased);
  }
};

}  // namespace gcoord::locks
