// The host's owner of a MovingIndex: keeps it at most 4/7 full by doubling, without a stall.
//
// A doubled table takes over from the old one row by row, kMovesPerCall per reserve(); more than
// one per added row is needed to be done before the next doubling. Moving needs (hash, row) pairs
// only; keys are not touched. The view changes with reserve(); views taken before are void. Host
// only; one thread.
#pragma once

#include "common/assert.h"
#include "common/tables/hash_index.h"
#include "common/tables/mapped_column.h"

#include <cstddef>
#include <cstdint>

namespace gcoord {

class GrowingIndex {
 public:
  // Rows moved, and lines found empty, per call: 1.25 per row would keep pace.
  static constexpr std::uint32_t kMovesPerCall = 8;

  // Room for this many rows, and a few steps of a move under way.
  void reserve(std::size_t row_count) {
    const std::size_t line_count = HashIndex::line_count(row_count);
    if (line_count > lines_.size()) [[unlikely]] {
      grow(line_count);
    }
    if (moving()) [[unlikely]] {
      move(kMovesPerCall);
    }
  }

  const MovingIndex& view() const { return view_; }

  bool moving() const { return view_.previous.lines != nullptr; }

  std::size_t memory_bytes() const {
    return lines_.memory_bytes() + previous_lines_.memory_bytes();
  }

 private:
  void grow(std::size_t line_count) {
    GCOORD_ASSERT(line_count <= std::size_t{1} << 32);  // A line's number has 32 bits.
    while (moving()) {
      move(kMovesPerCall);
    }
    previous_lines_.swap(lines_);
    lines_.resize(line_count);
    view_.previous = view_.current;
    view_.current = {lines_.data(), static_cast<std::uint32_t>(line_count - 1)};
    next_ = 0;
  }

  // Moves from the table's start. Nothing comes to lie behind `next_`, since rows are added to the
  // new table only.
  void move(std::uint32_t steps) {
    const HashIndex& previous = view_.previous;
    for (std::uint32_t step = 0; step < steps; ++step) {
      if (next_ > previous.mask) {
        view_.previous = HashIndex{};
        previous_lines_.clear();
        return;
      }
      const std::uint64_t slot = first_row(previous.lines[next_]);
      if (slot == 0) {
        ++next_;
        continue;
      }
      const auto hash = static_cast<std::uint32_t>(slot >> 32);
      const auto row = static_cast<std::uint32_t>(slot);
      view_.current.insert(hash, row);
      const bool erased = previous.erase(hash, row);
      GCOORD_ASSERT(erased);
    }
  }

  static std::uint64_t first_row(const IndexLine& line) {
    for (const std::uint64_t slot : line.slot) {
      if (slot != 0) {
        return slot;
      }
    }
    return 0;
  }

  MappedColumn<IndexLine> lines_;
  MappedColumn<IndexLine> previous_lines_;
  MovingIndex view_;
  std::size_t next_ = 0;  // Lines of the previous table below it are empty.
};

}  // namespace gcoord
