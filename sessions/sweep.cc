#include "sessions/sweep.h"

#include <algorithm>
#include <bit>

namespace gcoord::sessions {
namespace {

// As in clock.cc: proposals begin at the block of rows where the last ones stopped.
constexpr std::uint32_t kBlockRows = 64;
constexpr std::uint32_t kBlockWords = kBlockRows / 32;

// Proposals of one launch.
constexpr std::size_t kTakeMax = 1u << 16;

}  // namespace

Status SessionSweep::copy(Column& column, const void* from, std::size_t bytes) {
  if (column.memory == nullptr || column.bytes < bytes) {
    GCOORD_TRY(column.memory, device_.reserve(bytes));
    column.bytes = bytes;
  }
  column.from = from;
  return bytes == 0 ? Status{} : device_.copy_in(column.memory.get(), from, bytes);
}

Status SessionSweep::load_index(const HashIndex& index, Column& column, HashIndex& there) {
  there = HashIndex{};
  if (index.lines == nullptr) {
    return {};
  }
  GCOORD_TRY_STATUS(copy(column, index.lines, (std::size_t{index.mask} + 1) * sizeof(IndexLine)));
  there.lines = static_cast<IndexLine*>(column.memory.get());
  there.mask = index.mask;
  return {};
}

Status SessionSweep::reserve_batches() {
  if (sessions_ == nullptr) {
    GCOORD_TRY(sessions_, device_.reserve(kRenewBatchMax * sizeof(SessionId)));
    GCOORD_TRY(outcomes_, device_.reserve(kRenewBatchMax * sizeof(RenewOutcome)));
    GCOORD_TRY(rows_, device_.reserve(kTakeMax * sizeof(SessionRow)));
    GCOORD_TRY(proposals_, device_.reserve(kTakeMax * sizeof(ExpiryProposal)));
    GCOORD_TRY(summary_, device_.reserve(sizeof(DueSummary)));
    GCOORD_TRY(host_summary_, device_.reserve_shared(sizeof(DueSummary)));
  }
  const std::size_t words = due_word_count(columns_.row_end);
  if (words > due_word_capacity_) {
    GCOORD_TRY(due_words_, device_.reserve(words * sizeof(std::uint32_t)));
    due_word_capacity_ = words;
  }
  return {};
}

Status SessionSweep::load(SessionClock& clock) {
  const SessionColumns here = clock.columns();
  const std::size_t rows = here.row_end;
  columns_ = here;
  GCOORD_TRY_STATUS(copy(deadline_, here.deadline, rows * sizeof(Tick)));
  GCOORD_TRY_STATUS(copy(heard_, here.heard, rows * sizeof(Tick)));
  GCOORD_TRY_STATUS(copy(cells_, here.cells, rows * sizeof(SessionCell)));
  GCOORD_TRY_STATUS(copy(over_ring_, here.over_ring, here.over_capacity * sizeof(SessionId)));
  MovingIndex& first = columns_.first_of_session;
  MovingIndex& over = columns_.over_index;
  GCOORD_TRY_STATUS(load_index(here.first_of_session.current, index_[0], first.current));
  GCOORD_TRY_STATUS(load_index(here.first_of_session.previous, index_[1], first.previous));
  GCOORD_TRY_STATUS(load_index(here.over_index.current, index_[2], over.current));
  GCOORD_TRY_STATUS(load_index(here.over_index.previous, index_[3], over.previous));
  columns_.deadline = static_cast<Tick*>(deadline_.memory.get());
  columns_.heard = static_cast<Tick*>(heard_.memory.get());
  columns_.cells = static_cast<SessionCell*>(cells_.memory.get());
  columns_.over_ring = static_cast<const SessionId*>(over_ring_.memory.get());
  return reserve_batches();
}

Status SessionSweep::store(SessionClock& clock) {
  const SessionColumns here = clock.columns();
  const std::size_t rows = columns_.row_end;
  GCOORD_ASSERT(here.row_end == columns_.row_end);
  GCOORD_TRY_STATUS(device_.copy_out(here.deadline, columns_.deadline, rows * sizeof(Tick)));
  GCOORD_TRY_STATUS(device_.copy_out(here.heard, columns_.heard, rows * sizeof(Tick)));
  GCOORD_TRY_STATUS(device_.copy_out(here.cells, columns_.cells, rows * sizeof(SessionCell)));
  clock.on_columns_changed();
  return {};
}

Status SessionSweep::take_in(std::span<const SessionId> sessions) {
  GCOORD_ASSERT(sessions.size() <= kRenewBatchMax);
  taken_ = static_cast<std::uint32_t>(sessions.size());
  return device_.copy_in(sessions_.get(), sessions.data(), sessions.size_bytes());
}

Status SessionSweep::renew_taken(Tick now) {
  if (taken_ == 0) {
    return {};
  }
  return device_.renew({.columns = columns_,
                        .sessions = static_cast<const SessionId*>(sessions_.get()),
                        .outcomes = static_cast<RenewOutcome*>(outcomes_.get()),
                        .count = taken_,
                        .now = now});
}

Status SessionSweep::outcomes_of_taken(std::span<RenewOutcome> outcomes) {
  GCOORD_ASSERT(outcomes.size() == taken_);
  return device_.copy_out(outcomes.data(), outcomes_.get(), outcomes.size_bytes());
}

Status SessionSweep::renew_all(std::span<const SessionId> sessions,
                               Tick now,
                               std::span<RenewOutcome> outcomes) {
  GCOORD_ASSERT(outcomes.size() == sessions.size());
  while (!sessions.empty()) {
    const std::size_t count = std::min<std::size_t>(sessions.size(), kRenewBatchMax);
    GCOORD_TRY_STATUS(take_in(sessions.first(count)));
    GCOORD_TRY_STATUS(renew_taken(now));
    GCOORD_TRY_STATUS(outcomes_of_taken(outcomes.first(count)));
    sessions = sessions.subspan(count);
    outcomes = outcomes.subspan(count);
  }
  return {};
}

Result<bool> SessionSweep::any_due(Tick now) {
  auto* const host_summary = static_cast<DueSummary*>(host_summary_.get());
  GCOORD_TRY_STATUS(device_.scan_due({.deadline = columns_.deadline,
                                      .row_end = columns_.row_end,
                                      .due_words = static_cast<std::uint32_t*>(due_words_.get()),
                                      .summary = static_cast<DueSummary*>(summary_.get()),
                                      .host_summary = host_summary,
                                      .now = now}));
  return host_summary->nobody == 0;
}

// The first `most` rows whose bits are set, from the block where the last look stopped; and where
// this one stops: at the block that still has some.
std::vector<SessionRow> SessionSweep::rows_due(std::size_t most) {
  const std::uint32_t word_count = due_word_count(columns_.row_end);
  const std::uint32_t block_count = (word_count + kBlockWords - 1) / kBlockWords;
  std::vector<SessionRow> rows;
  for (std::uint32_t i = 0; i < block_count; ++i) {
    const std::uint32_t start = scan_block_ % block_count * kBlockWords;
    for (std::uint32_t at = start; at < std::min(start + kBlockWords, word_count); ++at) {
      for (std::uint32_t bits = words_[at]; bits != 0; bits &= bits - 1) {
        if (rows.size() == most) {
          return rows;
        }
        rows.emplace_back(at * 32 + static_cast<std::uint32_t>(std::countr_zero(bits)));
      }
    }
    ++scan_block_;
  }
  return rows;
}

Result<std::size_t> SessionSweep::expired(Tick now, std::span<ExpiryProposal> out) {
  GCOORD_TRY(const bool any, any_due(now));
  if (!any || out.empty()) {
    return std::size_t{0};
  }
  words_.resize(due_word_count(columns_.row_end));
  GCOORD_TRY_STATUS(
      device_.copy_out(words_.data(), due_words_.get(), words_.size() * sizeof(std::uint32_t)));
  const std::vector<SessionRow> rows = rows_due(std::min(out.size(), kTakeMax));
  const std::size_t bytes = rows.size() * sizeof(SessionRow);
  GCOORD_TRY_STATUS(device_.copy_in(rows_.get(), rows.data(), bytes));
  GCOORD_TRY_STATUS(device_.take_due({.columns = columns_,
                                      .rows = static_cast<const SessionRow*>(rows_.get()),
                                      .proposals = static_cast<ExpiryProposal*>(proposals_.get()),
                                      .count = static_cast<std::uint32_t>(rows.size())}));
  GCOORD_TRY_STATUS(
      device_.copy_out(out.data(), proposals_.get(), rows.size() * sizeof(ExpiryProposal)));
  return rows.size();
}

}  // namespace gcoord::sessions
