// The session clock of a node with very many sessions, renewed and swept as wide operations.
//
// What: a copy of a SessionClock's columns where a SweepDevice works. load() takes the columns,
// renew_all() and expired() do there what SessionClock's functions of these names do, and store()
// gives the columns back. Between load() and store() the copy is the truth and nobody registers,
// removes or leads: those change few rows, this changes all of them.
//
// Outcomes, proposals, deadlines and what was heard are bit by bit those of SessionClock: both call
// columns.h. Contract: one thread; ticks as clock.h; errors as SweepDevice, and
// after one the columns of the SessionClock still stand as load() found them. Host only.
#pragma once

#include "common/status.h"
#include "sessions/clock.h"
#include "sessions/sweep_device.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gcoord::sessions {

// How many keep-alives one launch takes; a longer list is taken in parts.
inline constexpr std::uint32_t kRenewBatchMax = 1u << 22;

class SessionSweep {
 public:
  // `device` works; it outlives this.
  explicit SessionSweep(SweepDevice& device) : device_(device) {}

  Status load(SessionClock& clock);
  Status store(SessionClock& clock);

  // As SessionClock::renew_all; outcomes as many as sessions.
  Status renew_all(std::span<const SessionId> sessions, Tick now, std::span<RenewOutcome> outcomes);

  // As SessionClock::expired: how many of `out` were written.
  Result<std::size_t> expired(Tick now, std::span<ExpiryProposal> out);

  // The two parts of renew_all() that a caller may want apart: ids into the device's memory, and
  // their renewal. At most kRenewBatchMax.
  Status take_in(std::span<const SessionId> sessions);
  Status renew_taken(Tick now);
  Status outcomes_of_taken(std::span<RenewOutcome> outcomes);

  // Whether any row is due, without taking it.
  Result<bool> any_due(Tick now);

 private:
  // One column of the clock, here and there.
  struct Column {
    const void* from = nullptr;
    std::size_t bytes = 0;
    SweepMemory memory;
  };

  Status copy(Column& column, const void* from, std::size_t bytes);
  Status load_index(const HashIndex& index, Column& column, HashIndex& there);
  Status reserve_batches();
  std::vector<SessionRow> rows_due(std::size_t most);

  SweepDevice& device_;
  SessionColumns columns_;
  Column deadline_;
  Column heard_;
  Column cells_;
  Column over_ring_;
  Column index_[4];  // Of sessions and of what is over, each with its previous table.
  SweepMemory due_words_;
  std::size_t due_word_capacity_ = 0;
  SweepMemory summary_;
  SweepMemory host_summary_;
  SweepMemory sessions_;
  SweepMemory outcomes_;
  SweepMemory rows_;
  SweepMemory proposals_;
  std::vector<std::uint32_t> words_;
  std::uint32_t taken_ = 0;
  std::uint32_t scan_block_ = 0;
};

}  // namespace gcoord::sessions
