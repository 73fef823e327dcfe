// Slices of a deadline column with a deadline that was lowered since the last copy.
//
// For whoever keeps a copy of the column elsewhere (deadline_mirror.h): as long as no part is
// marked, every deadline of the copy is at most the true one. A deadline that is raised marks
// nothing, so keep-alives cost nothing here. A bit for each 4,096 rows. Host only; one thread.
#pragma once

#include "common/assert.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::sessions {

// Rows of a part: 32 KiB of deadlines, which a copy to a device takes as long for as for a few.
inline constexpr std::uint32_t kSliceRows = 4096;

constexpr std::uint32_t slice_count(std::uint32_t row_end) {
  return (row_end + kSliceRows - 1) / kSliceRows;
}

class LoweredSlices {
 public:
  // Neighbouring slices.
  struct Run {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  // Makes room for rows below row_end; new slices are marked.
  void reserve(std::uint32_t row_end) {
    words_.resize((slice_count(row_end) + 63) / 64, ~std::uint64_t{0});
  }

  // A row below the end that was reserved.
  void add(std::uint32_t row) {
    const std::uint32_t slice = row / kSliceRows;
    words_[slice / 64] |= std::uint64_t{1} << slice % 64;
  }

  void add_all() { words_.assign(words_.size(), ~std::uint64_t{0}); }

  // Whether any slice below `end` is marked.
  bool any(std::uint32_t end) const { return first(end) < end; }

  // The first marked slices below `end` that stand together, at most `most`; they are unmarked.
  Run take(std::uint32_t end, std::uint32_t most) {
    Run run{.first = first(end)};
    while (run.count < most && run.first + run.count < end && marked(run.first + run.count)) {
      const std::uint32_t slice = run.first + run.count++;
      words_[slice / 64] &= ~(std::uint64_t{1} << slice % 64);
    }
    return run;
  }

 private:
  bool marked(std::uint32_t slice) const { return (words_[slice / 64] >> slice % 64 & 1u) != 0; }

  // The first marked slice below `end`, or `end`.
  std::uint32_t first(std::uint32_t end) const {
    GCOORD_ASSERT(end <= words_.size() * 64);
    for (std::uint32_t word = 0; word * 64 < end; ++word) {
      if (words_[word] != 0) {
        const auto slice = word * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[word]));
        return slice < end ? slice : end;
      }
    }
    return end;
  }

  std::vector<std::uint64_t> words_;
};

}  // namespace gcoord::sessions
