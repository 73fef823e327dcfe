#include "sessions/deadline_mirror.h"

#include <algorithm>
#include <bit>

namespace gcoord::sessions {

// Up to the column's end; a round that gets there goes on from the start at the next look.
RowRange HostRound::next(std::uint32_t row_end, Tick now) {
  const std::uint32_t slices = slice_count(row_end);
  const std::uint64_t elapsed = now - last_.value_or(now);
  last_ = now;
  credit_ =
      std::min(credit_ + std::min(elapsed, kHostRoundTicks) * slices, kHostRoundTicks * slices);
  slice_ = slice_ < slices ? slice_ : 0;
  const std::uint64_t count = std::min<std::uint64_t>(credit_ / kHostRoundTicks, slices - slice_);
  credit_ -= count * kHostRoundTicks;
  const std::uint32_t first = slice_;
  slice_ += static_cast<std::uint32_t>(count);
  return {.first = first * kSliceRows, .end = slice_ * kSliceRows};
}

// Grows by doubling. New memory holds nothing, so all slices are marked.
Status DeadlineMirror::reserve(std::uint32_t row_end) {
  const std::uint32_t rows = std::bit_ceil(std::max(row_end, kSliceRows));
  deadline_ = nullptr;  // Never memory for both.
  GCOORD_TRY(deadline_, device_.reserve(std::size_t{rows} * sizeof(Tick)));
  GCOORD_TRY(due_words_, device_.reserve(due_word_count(rows) * sizeof(std::uint32_t)));
  if (summary_ == nullptr) {
    GCOORD_TRY(summary_, device_.reserve(sizeof(DueSummary)));
    GCOORD_TRY(host_summary_, device_.reserve_shared(sizeof(DueSummary)));
  }
  capacity_ = rows;
  return {};
}

// Runs of marked slices; a run that is not copied is never left unmarked, since after an error
// nobody looks any more.
Status DeadlineMirror::follow(SessionClock& clock) {
  const SessionColumns here = clock.columns();
  const std::uint32_t slices = slice_count(here.row_end);
  auto* const there = static_cast<Tick*>(deadline_.get());
  std::uint32_t left = slices_per_look(slices);
  while (left > 0 && clock.lowered().any(slices)) {
    const LoweredSlices::Run run = clock.lowered().take(slices, left);
    const std::size_t first = std::size_t{run.first} * kSliceRows;
    const std::size_t end =
        std::min<std::size_t>(first + std::size_t{run.count} * kSliceRows, here.row_end);
    GCOORD_TRY_STATUS(
        device_.copy_in(there + first, here.deadline + first, (end - first) * sizeof(Tick)));
    left -= run.count;
  }
  return {};
}

Result<std::optional<DueQuery>> DeadlineMirror::look(SessionClock& clock, Tick now) {
  const std::uint32_t row_end = clock.row_end();
  if (row_end > capacity_) {
    GCOORD_TRY_STATUS(reserve(row_end));
    clock.lowered().add_all();
  }
  GCOORD_TRY_STATUS(follow(clock));
  if (clock.lowered().any(slice_count(row_end))) {
    return std::optional<DueQuery>{};
  }
  auto* const summary = static_cast<DueSummary*>(host_summary_.get());
  GCOORD_TRY_STATUS(device_.scan_due({.deadline = static_cast<const Tick*>(deadline_.get()),
                                      .row_end = row_end,
                                      .due_words = static_cast<std::uint32_t*>(due_words_.get()),
                                      .summary = static_cast<DueSummary*>(summary_.get()),
                                      .host_summary = summary,
                                      .now = now}));
  words_.clear();
  if (summary->nobody == 0) {
    words_.resize(due_word_count(row_end));
    GCOORD_TRY_STATUS(
        device_.copy_out(words_.data(), due_words_.get(), words_.size() * sizeof(std::uint32_t)));
  }
  return std::optional{DueQuery{.words = words_,
                                .later = min_id(Tick{summary->later}, now + kLookTicksMax),
                                .own = round_.next(row_end, now)}};
}

}  // namespace gcoord::sessions
