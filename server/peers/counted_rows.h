// A set of rows that knows its size, and hands its rows out one after the other.
//
// One thread.
#pragma once

#include "common/assert.h"
#include "common/shard_bits.h"

#include <cstdint>

namespace gcoord::server {

class CountedRows {
 public:
  explicit CountedRows(std::uint32_t row_count) : row_count_(row_count), bits_(row_count) {}

  std::uint32_t count() const { return count_; }

  bool empty() const { return count_ == 0; }

  bool test(std::uint32_t row) const { return bits_.test(row); }

  void assign(std::uint32_t row, bool member) {
    if (bits_.test(row) == member) {
      return;
    }
    if (member) {
      bits_.set(row);
      ++count_;
    } else {
      bits_.reset(row);
      --count_;
    }
  }

  // Takes the next row at or behind `cursor`, or else the first one, out of a set that is not
  // empty. The cursor moves there.
  std::uint32_t take_next(std::uint32_t& cursor) {
    cursor = bits_.next_in_either(bits_, cursor);
    if (cursor == row_count_) {
      cursor = bits_.next_in_either(bits_, 0);
    }
    GCOORD_ASSERT(cursor < row_count_);
    assign(cursor, false);
    return cursor;
  }

 private:
  std::uint32_t row_count_;
  ShardBits bits_;
  std::uint32_t count_ = 0;
};

}  // namespace gcoord::server
