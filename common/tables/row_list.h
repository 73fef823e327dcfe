// Doubly linked lists of rows of a pool (row_pool.h). The links are two members of the records; row
// 0 ends a list. The owner of a list keeps its first row, and its last one where it is a queue.
//
//   using Holds = RowList<&LockRecord::hold_next, &LockRecord::hold_previous>;
//
// Pure functions over the pool; one writer. Host and device.
#pragma once

#include "common/hd.h"

namespace gcoord {

template <auto kNext, auto kPrevious>
struct RowList {
  template <typename Pool, typename Row>
  GCOORD_HD static void push_first(const Pool& rows, Row row, Row& first) {
    auto& record = rows[row];
    record.*kNext = first;
    record.*kPrevious = Row{};
    if (first.value != 0) {
      rows[first].*kPrevious = row;
    }
    first = row;
  }

  template <typename Pool, typename Row>
  GCOORD_HD static void push_last(const Pool& rows, Row row, Row& first, Row& last) {
    auto& record = rows[row];
    record.*kNext = Row{};
    record.*kPrevious = last;
    if (last.value != 0) {
      rows[last].*kNext = row;
    } else {
      first = row;
    }
    last = row;
  }

  // The links of the row itself stay as they are.
  template <typename Pool, typename Row>
  GCOORD_HD static void unlink(const Pool& rows, Row row, Row& first) {
    Row last{};  // Nobody keeps it.
    unlink(rows, row, first, last);
  }

  template <typename Pool, typename Row>
  GCOORD_HD static void unlink(const Pool& rows, Row row, Row& first, Row& last) {
    const auto& record = rows[row];
    const Row next = record.*kNext;
    const Row previous = record.*kPrevious;
    if (previous.value != 0) {
      rows[previous].*kNext = next;
    } else {
      first = next;
    }
    if (next.value != 0) {
      rows[next].*kPrevious = previous;
    } else {
      last = previous;
    }
  }
};

}  // namespace gcoord
