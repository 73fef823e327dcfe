// Doubly linked lists of rows of a pool (row_pool.h). The links are two members of the records; row
// 0 ends a list. The owner of a list keeps its first row, and its last one where it is a queue.
//
//   using Holds = RowList<&LockRecord::hold_next, &LockRecord::hold_previous>;
//
// Pure functions over the pool; one writer. Host and device.
#pragma once

#include "common/hd.h"

namespace gcoord {

// The first and the last row of a queue, where its owner keeps them.
template <typename Row>
struct RowEnds {
  Row& first;
  Row& last;
};

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
  GCOORD_HD static void push_last(const Pool& rows, Row row, const RowEnds<Row>& ends) {
    auto& record = rows[row];
    record.*kNext = Row{};
    record.*kPrevious = ends.last;
    if (ends.last.value != 0) {
      rows[ends.last].*kNext = row;
    } else {
      ends.first = row;
    }
    ends.last = row;
  }

  // The links of the row itself stay as they are.
  template <typename Pool, typename Row>
  GCOORD_HD static void unlink(const Pool& rows, Row row, Row& first) {
    Row last{};  // Nobody keeps it.
    unlink(rows, row, RowEnds<Row>{first, last});
  }

  template <typename Pool, typename Row>
  GCOORD_HD static void unlink(const Pool& rows, Row row, const RowEnds<Row>& ends) {
    const auto& record = rows[row];
    const Row next = record.*kNext;
    const Row previous = record.*kPrevious;
    if (previous.value != 0) {
      rows[previous].*kNext = next;
    } else {
      ends.first = next;
    }
    if (next.value != 0) {
      rows[next].*kPrevious = previous;
    } else {
      ends.last = previous;
    }
  }
};

}  // namespace gcoord
