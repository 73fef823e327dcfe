// Host-side map of the wide rows of a device table and their slots in its pool (packed_table.h),
// kept without querying the device.
//
// Contract: every row is not wide until it is noted; no two rows are noted in one place. Four bytes
// of the host per row. Not thread-safe; host code only.
#pragma once

#include "common/assert.h"
#include "consensus/device/packed_table.h"

#include <cstdint>
#include <vector>

namespace gcoord::consensus {

class WideSlots {
 public:
  explicit WideSlots(std::uint32_t row_count) : places_(row_count, kNotWide) {}

  // Where the row is from now on; kNotWide: not in the pool.
  void note(std::uint32_t row, std::uint32_t place) {
    GCOORD_ASSERT(row < places_.size());
    count_ += (place != kNotWide ? 1u : 0u) - (places_[row] != kNotWide ? 1u : 0u);
    places_[row] = place;
  }

  std::uint32_t place_of(std::uint32_t row) const { return places_[row]; }

  // Rows that are wide.
  std::uint32_t count() const { return count_; }

 private:
  std::vector<std::uint32_t> places_;
  std::uint32_t count_ = 0;
};

}  // namespace gcoord::consensus
