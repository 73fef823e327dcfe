// One look at all deadlines of a column: a bit per row, and the earliest that is not due yet.
//
// A group of threads (warp_device.h) makes one word of 32 rows: on a device a warp, whose loads are
// whole lines; on the host one thread. Words do not depend on each other. Host and device.
#pragma once

#include "common/device/device_atomic.h"
#include "common/device/device_minimum.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "common/ids.h"

#include <cstdint>

namespace gcoord::sessions {

// What a look says of all rows together. All bits of it are set before.
struct DueSummary {
  std::uint64_t nobody = kTickNever.value;  // 0 once any row is due.
  std::uint64_t later = kTickNever.value;   // The earliest deadline that is not.
};

GCOORD_HD inline DueSummary both_of(const DueSummary& one, const DueSummary& other) {
  return {one.nobody < other.nobody ? one.nobody : other.nobody,
          one.later < other.later ? one.later : other.later};
}

// Bit k % 32 of word k / 32 says whether row k is due.
struct DueScan {
  const Tick* deadline = nullptr;
  std::uint32_t row_end = 0;  // One past the last row.
  std::uint32_t* due_words = nullptr;
  DueSummary* summary = nullptr;       // Where the loop runs.
  DueSummary* host_summary = nullptr;  // The same for the host, when the call has returned.
  Tick now;
};

GCOORD_HD constexpr std::uint32_t due_word_count(std::uint32_t row_end) {
  return (row_end + 31) / 32;
}

// Looks at one word. The whole group calls it; what comes back, for all of it, is to be added.
GCOORD_HD inline DueSummary scan_due_word(const DueScan& scan, std::uint32_t word) {
  std::uint32_t bits = 0;
  Tick later{kTickNever.value};
  for (std::uint32_t offset = 0; offset < 32; offset += warp_lanes()) {
    const std::uint32_t row = word * 32 + offset + warp_rank();
    const bool inside = row < scan.row_end;
    const bool due = inside && scan.deadline[row] <= scan.now;
    bits |= warp_ballot(due) << offset;
    if (inside && !due) {
      later = min_id(later, scan.deadline[row]);
    }
  }
  if (warp_rank() == 0) {
    scan.due_words[word] = bits;
  }
  return {bits != 0 ? 0 : kTickNever.value, warp_least(later.value)};
}

// Adds what one thread knows of several words. One call for many words: the summary is one line of
// memory, for which a million calls would wait.
GCOORD_HD inline void add_due(const DueScan& scan, const DueSummary& said) {
  if (said.nobody == 0) {
    relaxed_store(scan.summary->nobody, 0);
  }
  relaxed_minimum(scan.summary->later, said.later);
}

// Words of a block of groups that add together.
inline constexpr std::uint32_t kDueBlockWords = 32;

// What the groups of a block found, in memory that they share.
struct DueBlock {
  std::uint64_t nobody[kDueBlockWords];
  std::uint64_t later[kDueBlockWords];
};

// Looks at the words of block `block`, one by each of its kDueBlockWords groups of as many members,
// and adds what they found. All of them call it; words behind the last are of no matter.
GCOORD_HD inline void scan_due_block(const DueScan& scan,
                                     std::uint32_t block,
                                     std::uint32_t group,
                                     DueBlock& found) {
  const std::uint32_t first = block * kDueBlockWords;
  const std::uint32_t count = due_word_count(scan.row_end);
  DueSummary said;
  if (first + group < count) {
    said = scan_due_word(scan, first + group);
  }
  if (warp_rank() == 0) {
    found.nobody[group] = said.nobody;
    found.later[group] = said.later;
  }
  block_meet();
  if (group == 0 && first < count) {
    said = {warp_least(found.nobody[warp_rank()]), warp_least(found.later[warp_rank()])};
    if (warp_rank() == 0) {
      add_due(scan, said);
    }
  }
}

}  // namespace gcoord::sessions
