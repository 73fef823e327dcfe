// One look at all deadlines of a session clock: a bit per row.
//
// A group of threads (warp_device.h) makes one word of 32 rows: on a device a warp, whose loads are
// whole lines; on the host one thread. Words do not depend on each other. Host and device.
#pragma once

#include "common/device_atomic.h"
#include "common/hd.h"
#include "common/ids.h"
#include "common/warp_device.h"
#include "locks/session_columns.h"

#include <cstdint>

namespace gcoord::locks {

// Bit k % 32 of word k / 32 says whether row k is due.
struct DueScan {
  SessionColumns columns;
  std::uint32_t* due_words = nullptr;
  std::uint32_t* found = nullptr;       // Where the loop runs: 1 when any bit is set. 0 before.
  std::uint32_t* host_found = nullptr;  // The same where the host reads it without a copy.
  Tick now;
};

GCOORD_HD constexpr std::uint32_t due_word_count(std::uint32_t row_end) {
  return (row_end + 31) / 32;
}

// The whole group calls it for one word.
GCOORD_HD inline void scan_due_word(const DueScan& scan, std::uint32_t word) {
  std::uint32_t bits = 0;
  for (std::uint32_t offset = 0; offset < 32; offset += warp_lanes()) {
    const std::uint32_t row = word * 32 + offset + warp_rank();
    const bool due = row < scan.columns.row_end && is_due(scan.columns, SessionRow{row}, scan.now);
    bits |= warp_ballot(due) << offset;
  }
  if (warp_rank() != 0) {
    return;
  }
  scan.due_words[word] = bits;
  // One store to the host's memory, whoever is first; the host reads it after the launch.
  if (bits != 0 && relaxed_set(*scan.found, 1) == 0) {
    *scan.host_found = 1;
  }
}

}  // namespace gcoord::locks
