// Rows of a stripe whose deadlines have passed.
//
// A row's deadline stands in the column of deadlines, where every turn of it writes it. Where many
// rows are at work some row is due in every tick, and to look at all deadlines then takes a good
// part of a turn, which is rounds to memory. So the rows of a stripe are divided into groups of
// neighbours, and the desk has for each of them a tick before which none of its rows is due: only
// groups whose tick has come are looked at. That tick is exact when a group was looked at, and is
// lowered by whoever sets an earlier deadline; one that was put off, or whose row was stepped
// earlier, costs a look in vain. Contract: one group of threads; all members call every function
// with the same arguments where it does not say otherwise. Host and device.
#pragma once

#include "common/bits.h"
#include "common/device/aligned_copy.h"
#include "common/device/device_atomic.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "consensus/step/message_tiles.h"
#include "server/device_turn/receive.h"
#include "server/device_turn/scratch.h"

#include <cstdint>

namespace gcoord::server {

// --- Groups

// Neighbouring rows that the members look at side by side, kScanRows each.
GCOORD_HD inline std::uint32_t scan_run_rows() {
  return warp_lanes() * kScanRows;
}

// Rows of one group, as a power of two: whole runs, and no more groups than the desk has words for.
GCOORD_HD inline std::uint32_t scan_shift_of(const RowRange& rows) {
  std::uint32_t shift = 0;
  while ((1u << shift) < scan_run_rows() || (kScanGroups << shift) < rows.count()) {
    ++shift;
  }
  return shift;
}

// Of any group no more is known than what the last desk left of all of them. Not less either: who
// notes a deadline takes one that is not earlier than its group's for known.
template <typename Service>
GCOORD_HD void open_scan(const StripeTurn<Service>& t) {
  for (std::uint32_t at = warp_rank(); at < kScanGroups; at += warp_lanes()) {
    t.desk.scan_next[at] = t.state.deadline_next;
  }
  if (warp_rank() == 0) {
    t.desk.scan_shift = scan_shift_of(t.rows);
  }
  warp_sync();
}

template <typename Service>
GCOORD_HD std::uint32_t scan_group_of(const StripeTurn<Service>& t, std::uint32_t row) {
  return (row - t.rows.first) >> t.desk.scan_shift;
}

// The deadlines that members bring, one each where `meant`, are those of their rows now.
template <typename Service>
GCOORD_HD void note_deadlines(StripeTurn<Service>& t,
                              bool meant,
                              std::uint32_t row,
                              Tick deadline) {
  Tick& next = t.desk.scan_next[scan_group_of(t, row)];
  const bool earlier = meant && deadline < next;
  const std::uint32_t any = warp_ballot(earlier);
  if (any == 0) {
    return;
  }
  warp_sync();  // Before a member writes what others have read.
  if (earlier) {
    relaxed_least(next.value, deadline.value);
  }
  const Tick least{warp_least(earlier ? deadline.value : kTickNever.value)};
  t.state.deadline_next = min_id(t.state.deadline_next, least);
  warp_sync();
}

// The same of the only row of a turn, which all members bring.
template <typename Service>
GCOORD_HD void note_deadline(StripeTurn<Service>& t, std::uint32_t row, Tick deadline) {
  t.state.deadline_next = min_id(t.state.deadline_next, deadline);
  if (warp_rank() == 0) {
    Tick& next = t.desk.scan_next[scan_group_of(t, row)];
    next = min_id(next, deadline);
  }
}

// --- The scan

// Runs whose deadlines are under way at once.
inline constexpr std::uint32_t kScanRuns = 4;

// The runs of a scan, one after the other: those of all groups in `groups`.
struct ScanCursor {
  std::uint32_t groups;  // A bit each: still to be looked at.
  std::uint32_t shift;
  std::uint32_t run = 0;  // Of the first of them.

  // The place of the next run among the stripe's rows; kNoTurnPlace: none is left.
  GCOORD_HD std::uint32_t next(std::uint32_t& group) {
    if (groups == 0) {
      return kNoTurnPlace;
    }
    group = lowest_bit(groups);
    const std::uint32_t at = (group << shift) + run * scan_run_rows();
    ++run;
    if (run * scan_run_rows() >= 1u << shift) {
      groups &= groups - 1;
      run = 0;
    }
    return at;
  }
};

// What a member finds in its rows of one run.
struct ScannedRun {
  std::uint32_t first = 0;  // Of the member's rows.
  std::uint32_t group = 0;
  std::uint32_t due = 0;  // Of them: a bit each.
  Tick deadline[kScanRows];
};

// Begins to read a run.
template <typename Service>
GCOORD_HD ScannedRun read_run(const StripeTurn<Service>& t, ScanCursor& cursor) {
  ScannedRun run;
  const std::uint32_t at = cursor.next(run.group);
  run.first = t.rows.first + at + warp_rank() * kScanRows;
  const bool there = (at != kNoTurnPlace) & (run.first < t.rows.end);
  run.first = there ? run.first : t.rows.end;
  GCOORD_UNROLL
  for (std::uint32_t k = 0; k < kScanRows; k += 2) {
    consensus::MessageChunk two{{kTickNever.value, kTickNever.value}};
    if (there) {
      two = consensus::load_chunk(t.node.table.deadline + run.first + k);
    }
    run.deadline[k] = Tick{two.word[0]};
    run.deadline[k + 1] = Tick{two.word[1]};
  }
  return run;
}

// Finds out which of a member's rows have come to their deadline; the earliest one of the others.
template <typename Service>
GCOORD_HD Tick judge_run(const StripeTurn<Service>& t, ScannedRun& run) {
  Tick next = kTickNever;
  GCOORD_UNROLL
  for (std::uint32_t k = 0; k < kScanRows; ++k) {
    const bool ours = run.first + k < t.rows.end;
    const bool due = ours & (run.deadline[k] <= t.tick());
    run.due |= due ? 1u << k : 0u;
    next = due | !ours ? next : min_id(next, run.deadline[k]);
  }
  return next;
}

// The flags of a member's rows that are due, which are one word.
template <typename Service>
GCOORD_HD std::uint32_t flags_of_due(const StripeTurn<Service>& t, const ScannedRun& run) {
  static_assert(kScanRows == sizeof(std::uint32_t));
  return run.due == 0 ? 0 : load_aligned<std::uint32_t>(&t.node.flags[run.first]);
}

// Queues the rows of a run that are due and do not lie in the ring.
template <typename Service>
GCOORD_HD void push_run(StripeTurn<Service>& t, const ScannedRun& run, std::uint32_t flags) {
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < kScanRows; ++k) {
    const bool queued = (flags >> k * 8 & kTurnQueued) != 0;
    const bool wanted = (run.due >> k & 1u) != 0 && !queued;
    if (warp_ballot(wanted) != 0) {
      push_due(t, wanted, run.first + k);
    }
  }
}

// Which groups have a tick that has come: a bit each. Their ticks are taken back.
template <typename Service>
GCOORD_HD std::uint32_t take_due_groups(const StripeTurn<Service>& t) {
  std::uint32_t groups = 0;
  for (std::uint32_t base = 0; base < kScanGroups; base += warp_lanes()) {
    Tick& next = t.desk.scan_next[base + warp_rank()];
    const bool due = next <= t.tick();
    groups |= warp_ballot(due) << base;
    next = due ? kTickNever : next;
  }
  warp_sync();
  return groups;
}

// Looks at the groups whose tick has come and queues the rows that are due.
template <typename Service>
GCOORD_HD void scan_due_groups(StripeTurn<Service>& t) {
  warp_sync();  // What one member noted of the only row of a turn.
  ScanCursor cursor{take_due_groups(t), t.desk.scan_shift};
  GCOORD_UNROLL_BY(1)
  while (cursor.groups != 0) {
    ScannedRun run[kScanRuns];
    std::uint32_t flags[kScanRuns];
    GCOORD_UNROLL
    for (std::uint32_t k = 0; k < kScanRuns; ++k) {
      run[k] = read_run(t, cursor);
    }
    GCOORD_UNROLL
    for (std::uint32_t k = 0; k < kScanRuns; ++k) {
      const Tick next{warp_least(judge_run(t, run[k]).value)};
      flags[k] = flags_of_due(t, run[k]);
      if (warp_rank() == 0) {
        t.desk.scan_next[run[k].group] = min_id(t.desk.scan_next[run[k].group], next);
      }
    }
    GCOORD_UNROLL
    for (std::uint32_t k = 0; k < kScanRuns; ++k) {
      if (warp_ballot(run[k].due != 0) != 0) {
        push_run(t, run[k], flags[k]);
      }
    }
  }
  warp_sync();
  Tick next = kTickNever;
  for (std::uint32_t at = warp_rank(); at < kScanGroups; at += warp_lanes()) {
    next = min_id(next, t.desk.scan_next[at]);
  }
  t.state.deadline_next = Tick{warp_least(next.value)};
}

// Once per tick and only if a row can be due: queues the rows whose deadline has come.
template <typename Service>
GCOORD_HD void scan_deadlines(StripeTurn<Service>& t) {
  if (t.tick() >= t.state.deadline_next) {
    scan_due_groups(t);
  }
}

}  // namespace gcoord::server
