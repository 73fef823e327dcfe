// A pool of fixed records with a stack of free rows: taking and giving back are O(1).
//
// Row 0 is never used and means "none", so zeroed memory is an empty pool and a zero link ends a
// list. A view over memory of the owner, which grows it before a command that needs more rows; one
// writer; host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"

#include <cstdint>

namespace gcoord::locks {

// The part of a pool that changes with every take; lives beside the columns, not in the view.
struct RowPoolCounts {
  std::uint32_t used = 0;   // Rows in use.
  std::uint32_t fresh = 0;  // Rows ever used; row fresh + 1 is the next never used one.
  std::uint32_t free = 0;   // Rows on the free stack.
};

template <typename Record, typename RowId>
struct RowPool {
  Record* records = nullptr;
  std::uint32_t* free_rows = nullptr;
  RowPoolCounts* counts = nullptr;
  std::uint32_t capacity = 0;  // Usable rows: 1 to capacity.

  GCOORD_HD Record& operator[](RowId row) const {
    GCOORD_ASSERT(row.value != 0);
    GCOORD_ASSERT(row.value <= capacity);
    return records[row.value];
  }

  // A row whose record is default-initialised.
  GCOORD_HD RowId take() const {
    std::uint32_t row = 0;
    if (counts->free > 0) {
      --counts->free;
      row = free_rows[counts->free];
    } else {
      GCOORD_ASSERT(counts->fresh < capacity);  // The driver reserved before it applied.
      ++counts->fresh;
      row = counts->fresh;
    }
    ++counts->used;
    records[row] = Record{};
    return RowId{row};
  }

  GCOORD_HD void give_back(RowId row) const {
    GCOORD_ASSERT(row.value != 0);
    GCOORD_ASSERT(counts->used > 0);
    GCOORD_ASSERT(counts->free < counts->fresh);
    --counts->used;
    free_rows[counts->free] = row.value;
    ++counts->free;
  }

  GCOORD_HD std::uint32_t available() const { return capacity - counts->used; }
};

}  // namespace gcoord::locks
