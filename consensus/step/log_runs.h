// The terms of a log as runs: which term an index has, where two logs part, and how runs come and
// go.
//
// Terms never fall along a log, so it is a short list of (start, term). A log page per shard is
// what this replaces: an idle shard keeps no page, and a hot one kRunSlots pairs, each relative to
// the floor. When a leader needs a run and no slot is free, the oldest run is forgotten if it is
// applied (its entries then exist only as a snapshot). If even that is impossible, kRunSlots
// elections in a row ended without a single decision; then the leader is mute until every voter has
// its whole log (lead.h, docs/adr/0002). Host and device.
#pragma once

#include "common/assert.h"
#include "consensus/step/shard_table.h"

namespace gcoord::consensus {

inline constexpr std::uint64_t kOffsetMax = 0xffffffffu;

// The runs of a log that is known to hold one term only, by that term: the functions below take
// either form.
struct OneRun {
  Term term;
};

GCOORD_HD inline std::uint32_t run_count(const Log& log, const LogRuns& /*runs*/) {
  return log.run_count;
}

GCOORD_HD constexpr std::uint32_t run_count(const Log& /*log*/, const OneRun& /*runs*/) {
  return 1;
}

GCOORD_HD inline LogIndex run_start(const Log& log, const LogRuns& runs, std::uint32_t k) {
  return log.floor + runs.start_offset[k];
}

GCOORD_HD inline LogIndex run_start(const Log& log, const OneRun& /*runs*/, std::uint32_t /*k*/) {
  return log.floor + 1;
}

GCOORD_HD inline Term run_term(const Log& log, const LogRuns& runs, std::uint32_t k) {
  return log.floor_term + runs.term_offset[k];
}

GCOORD_HD inline Term run_term(const Log& /*log*/, const OneRun& runs, std::uint32_t /*k*/) {
  return runs.term;
}

// The last index of run k.
template <typename Runs>
GCOORD_HD inline LogIndex run_end(const Log& log, const Runs& runs, std::uint32_t k) {
  GCOORD_ASSERT(k < run_count(log, runs));
  return k + 1 < run_count(log, runs) ? run_start(log, runs, k + 1) - 1 : log.last;
}

// The term of an index, or Term{0} where it is not known: below the floor, beyond the end.
template <typename Runs>
GCOORD_HD inline Term term_at(const Log& log, const Runs& runs, LogIndex index) {
  if (index == log.floor) {
    return log.floor_term;
  }
  if (index < log.floor || index > log.last) {
    return Term{};
  }
  for (std::uint32_t k = run_count(log, runs); k > 0; --k) {
    if (index >= run_start(log, runs, k - 1)) {
      return run_term(log, runs, k - 1);
    }
  }
  return Term{};
}

GCOORD_HD inline Term term_at(const Log& log, const OneRun& runs, LogIndex index) {
  const bool held = (index > log.floor) & (index <= log.last);
  return index == log.floor ? log.floor_term : held ? runs.term : Term{};
}

template <typename Runs>
GCOORD_HD inline Term last_term(const Log& log, const Runs& runs) {
  return term_at(log, runs, log.last);
}

// Forgets everything up to `to`, which is applied, and keeps the rest relative to the floor there.
GCOORD_HD inline void compact(Log& log, LogRuns& runs, LogIndex to) {
  GCOORD_ASSERT(to <= log.applied);
  if (to <= log.floor) {
    return;
  }
  const Term to_term = term_at(log, runs, to);
  std::uint32_t kept = 0;
  for (std::uint32_t k = 0; k < log.run_count; ++k) {
    if (run_end(log, runs, k) <= to) {
      continue;
    }
    const LogIndex start = max_id(run_start(log, runs, k), to + 1);
    const Term term = run_term(log, runs, k);
    runs.start_offset[kept] = static_cast<std::uint32_t>(start - to);
    runs.term_offset[kept] = static_cast<std::uint32_t>(term - to_term);
    ++kept;
  }
  log.run_count = kept;
  log.floor = to;
  log.floor_term = to_term;
}

// The same for a log that holds one run and is to hold it afterwards; false: it would not, and
// nothing was done. Without a branch, which a device waits for.
GCOORD_HD inline bool compact_one_run(Log& log, LogRuns& runs, LogIndex to) {
  GCOORD_ASSERT(to <= log.applied);
  const bool keeps = (to < log.last) | (to <= log.floor);
  const bool forgets = keeps & (to > log.floor);
  log.floor_term = forgets ? log.floor_term + runs.term_offset[0] : log.floor_term;
  log.floor = forgets ? to : log.floor;
  runs.start_offset[0] = forgets ? 1 : runs.start_offset[0];
  runs.term_offset[0] = forgets ? 0 : runs.term_offset[0];
  return keeps;
}

// Whether the oldest run can be forgotten: all of it is applied.
template <typename Runs>
GCOORD_HD inline bool oldest_forgettable(const Log& log, const Runs& runs) {
  return run_count(log, runs) >= 2 && run_end(log, runs, 0) <= log.applied;
}

// Whether entries of `term` can be appended, perhaps after forgetting the oldest run.
template <typename Runs>
GCOORD_HD inline bool has_room(const Log& log, const Runs& runs, Term term) {
  const bool in_range = (term >= log.floor_term) & (term - log.floor_term <= kOffsetMax) &
                        (log.last - log.floor < kOffsetMax - kRunSlots);
  const bool extends =
      run_count(log, runs) > 0 && run_term(log, runs, run_count(log, runs) - 1) == term;
  return in_range && (extends || run_count(log, runs) < kRunSlots || oldest_forgettable(log, runs));
}

// Begins a run of `term` behind the end of the log.
GCOORD_HD inline void begin_run(Log& log, LogRuns& runs, Term term) {
  if (log.run_count == kRunSlots) {
    compact(log, runs, run_end(log, runs, 0));
  }
  runs.start_offset[log.run_count] = static_cast<std::uint32_t>(log.last + 1 - log.floor);
  runs.term_offset[log.run_count] = static_cast<std::uint32_t>(term - log.floor_term);
  ++log.run_count;
}

// A log that is known to hold one term gets no other one.
GCOORD_HD inline void begin_run(Log& /*log*/, const OneRun& runs, Term term) {
  GCOORD_ASSERT(runs.term == term);
}

// Appends `count` entries of `term`. The caller knows that there is room.
template <typename Runs>
GCOORD_HD inline void append_entries(Log& log, Runs&& runs, std::uint64_t count, Term term) {
  GCOORD_ASSERT(count > 0);
  GCOORD_ASSERT(has_room(log, runs, term));
  GCOORD_ASSERT(term >= last_term(log, runs));
  const std::uint32_t runs_now = run_count(log, runs);
  const bool extends = runs_now > 0 && run_term(log, runs, runs_now - 1) == term;
  if (!extends) {
    begin_run(log, runs, term);
  }
  log.last = log.last + count;
}

// How many runs begin before the end of the log; those behind it are not meant any more.
template <typename Runs>
GCOORD_HD inline std::uint32_t runs_up_to(const Log& log, const Runs& runs) {
  std::uint32_t count = run_count(log, runs);
  while (count > 0 && run_start(log, runs, count - 1) > log.last) {
    --count;
  }
  return count;
}

// Removes every entry from `index` on; never a committed one.
GCOORD_HD inline void truncate_from(Log& log, const LogRuns& runs, LogIndex index) {
  GCOORD_ASSERT(index > log.commit);
  GCOORD_ASSERT(index <= log.last);
  log.last = index - 1;
  log.run_count = runs_up_to(log, runs);
  log.configuration_pending = min_id(log.configuration_pending, log.last);
}

// The first index in [first, last] at which this log holds a term other than `term`; LogIndex{0} if
// there is none.
template <typename Runs>
GCOORD_HD inline LogIndex first_conflict(
    const Log& log, const Runs& runs, LogIndex first, LogIndex last, Term term) {
  for (std::uint32_t k = 0; k < run_count(log, runs); ++k) {
    const LogIndex from = max_id(run_start(log, runs, k), first);
    if (run_term(log, runs, k) != term && from <= min_id(run_end(log, runs, k), last)) {
      return from;
    }
  }
  return LogIndex{};
}

// The largest known index up to `bound` whose term is at most `term`: where a leader with (bound,
// term) should look next (Raft section 5.3, the optimisation; etcd's log-conflict hint). At least
// the floor.
template <typename Runs>
GCOORD_HD inline LogIndex conflict_hint(const Log& log,
                                        const Runs& runs,
                                        LogIndex bound,
                                        Term term) {
  const LogIndex end = min_id(bound, log.last);
  for (std::uint32_t k = run_count(log, runs); k > 0; --k) {
    if (run_start(log, runs, k - 1) <= end && run_term(log, runs, k - 1) <= term) {
      return min_id(run_end(log, runs, k - 1), end);
    }
  }
  return min_id(log.floor, end);
}

}  // namespace gcoord::consensus
