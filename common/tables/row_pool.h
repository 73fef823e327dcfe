// A pool of fixed records with a stack of free rows: taking and giving back are O(1).
//
// Free rows stand in `free_rows`. A writer owns a window of it and uses the window as a stack: it
// takes upwards and gives back downwards, so the row that was given back last is taken next, while
// it is still in a cache. A node with one writer has one window for ever, from 0 to the capacity. A
// device gives each of its writers a window for a command (locks/parallel/writer.h); there
// free_rows is a ring, what a writer gives back beyond the rows it took goes to the end of it, and
// rows that came back in a turn are taken in later ones only. So a row never has two writers in one
// turn.
//
// Row 0 is never used and means "none", so zeroed memory is an empty pool: a position of free_rows
// that was never written stands for the row with its number plus one, and a zero link ends a list.
// A view over memory of the owner, which sees to it that windows are long enough before a command
// is applied; one writer per window; host and device.
#pragma once

#include "common/assert.h"
#include "common/device/device_atomic.h"
#include "common/hd.h"

#include <cstdint>

namespace gcoord {

// A writer's part of free_rows. Positions count up and wrap like the type does.
struct RowWindow {
  std::uint32_t first = 0;  // Positions below it are another writer's.
  std::uint32_t next = 0;   // Position of the row to be taken next.
  std::uint32_t last = 0;   // Position after the last one.
  std::uint32_t fresh = 0;  // The highest `next` so far.
};

template <typename Record, typename RowId>
struct RowPool {
  Record* records = nullptr;
  std::uint32_t* free_rows = nullptr;
  RowWindow* window = nullptr;
  std::uint32_t* returned = nullptr;  // End of the ring; none where one window is all.
  std::uint32_t capacity = 0;         // Usable rows: 1 to capacity.
  std::uint32_t position_mask = ~0u;  // Of the ring's positions; all ones for a plain stack.

  GCOORD_HD Record& operator[](RowId row) const {
    GCOORD_ASSERT(row.value - 1 < capacity);  // Row 0 wraps, so one question asks both.
    return records[row.value];
  }

  // The free row that stands at a position.
  GCOORD_HD std::uint32_t row_at(std::uint32_t position) const {
    const std::uint32_t row = free_rows[position & position_mask];
    return row != 0 ? row : position + 1;
  }

  // A row whose record is default-initialised.
  GCOORD_HD RowId take() const {
    RowWindow& own = *window;
    GCOORD_ASSERT(own.next != own.last);  // The driver reserved before it applied.
    const std::uint32_t row = row_at(own.next);
    ++own.next;
    own.fresh = own.next > own.fresh ? own.next : own.fresh;
    GCOORD_ASSERT(row <= capacity);
    records[row] = Record{};
    return RowId{row};
  }

  GCOORD_HD void give_back(RowId row) const {
    GCOORD_ASSERT(row.value != 0);
    RowWindow& own = *window;
    std::uint32_t position = own.next - 1;
    if (own.next != own.first) {
      own.next = position;
    } else {
      GCOORD_ASSERT(returned != nullptr);
      position = relaxed_add(*returned, 1);
    }
    free_rows[position & position_mask] = row.value;
  }

  // Of a pool with one window.
  GCOORD_HD std::uint32_t used() const { return window->next - window->first; }

  GCOORD_HD std::uint32_t available() const { return window->last - window->next; }
};

}  // namespace gcoord
