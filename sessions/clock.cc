#include "sessions/clock.h"

#include "common/assert.h"
#include "common/random.h"

#include <algorithm>
#include <utility>

namespace gcoord::sessions {
namespace {

// Rows that the scan looks at together: the compiler turns the minimum of a block into vector
// instructions, and only a block with something due is looked at row by row.
constexpr std::uint32_t kScanBlockRows = 64;

Tick earliest(std::span<const Tick> deadlines) {
  Tick least = kTickNever;
  for (const Tick deadline : deadlines) {
    least = min_id(least, deadline);
  }
  return least;
}

// Takes what is due among rows [first, end), as far as `out` has room; returns how many.
template <typename Take>
std::size_t take_block(std::uint32_t first,
                       std::uint32_t end,
                       std::span<ExpiryProposal> out,
                       const Take& take) {
  std::size_t count = 0;
  for (std::uint32_t row = first; row < end && count < out.size(); ++row) {
    count += take(SessionRow{row}, out[count]) ? 1 : 0;
  }
  return count;
}

constexpr bool passes_none(std::uint32_t /*block*/) {
  return false;
}

}  // namespace

SessionClock::SessionClock(const SessionClockOptions& options)
    : SessionClock(options,
                   std::make_shared<OverSessions>(
                       OverSessionsOptions{.remembered_max = options.expired_remembered_max,
                                           .index_seed = options.index_seed})) {}

SessionClock::SessionClock(const SessionClockOptions& options, std::shared_ptr<OverSessions> over)
    : options_(options), over_(std::move(over)) {
  GCOORD_ASSERT(options.tick_ms > 0);
  reserve(1);
  deadline_[0] = kTickNever;  // Row 0 is never registered, but stands in the scan's first block.
}

void SessionClock::reserve(std::uint32_t row_capacity) {
  const std::size_t row_count = std::size_t{row_capacity} + 1;
  if (row_count <= rows_.size()) {
    return;
  }
  deadline_.resize(row_count);
  heard_.resize(row_count);
  rows_.resize(row_count);
  first_of_session_.reserve(row_capacity);
  lowered_.reserve(row_capacity + 1);
}

void SessionClock::set_deadline(SessionRow row, Tick deadline) {
  deadline_[row.value] = deadline;
  if (deadline == kTickNever) {
    return;
  }
  lowered_.add(row.value);
  due_bound_ = min_id(due_bound_, deadline);
}

std::uint64_t SessionClock::ttl_ticks(std::uint32_t ttl_ms) const {
  return session_ttl_ticks(ttl_ms, options_.tick_ms);
}

std::uint32_t SessionClock::session_hash(SessionId session) const {
  return session_clock_hash(session, options_.index_seed);
}

SessionRow SessionClock::find_first(SessionId session) const {
  return SessionRow{first_of_session_.view().find(
      session_hash(session),
      [this, session](std::uint32_t row) { return rows_[row].session == session; })};
}

// The first row of a session stays first, so that the index changes only when the first one comes
// or goes.
void SessionClock::link(SessionRow row) {
  SessionCell& added = rows_[row.value];
  const SessionRow first = find_first(added.session);
  if (first.value == 0) {
    first_of_session_.view().insert(session_hash(added.session), row.value);
    return;
  }
  added.previous = first;
  added.next = rows_[first.value].next;
  rows_[first.value].next = row;
  if (added.next.value != 0) {
    rows_[added.next.value].previous = row;
  }
}

void SessionClock::unlink(SessionRow row) {
  const SessionCell& removed = rows_[row.value];
  if (removed.next.value != 0) {
    rows_[removed.next.value].previous = removed.previous;
  }
  if (removed.previous.value != 0) {
    rows_[removed.previous.value].next = removed.next;
    return;
  }
  const std::uint32_t hash = session_hash(removed.session);
  first_of_session_.view().erase(hash, row.value);
  if (removed.next.value != 0) {
    first_of_session_.view().insert(hash, removed.next.value);
  }
}

void SessionClock::on_registered(const Registration& registration, Tick now, bool led) {
  GCOORD_ASSERT(registration.row.value < rows_.size());
  SessionCell& row = rows_[registration.row.value];
  GCOORD_ASSERT(!row.present);
  first_of_session_.reserve(rows_.size() - 1);  // A few steps of a move under way.
  // Rows between the old end and this one are not registered yet.
  for (; row_end_ <= registration.row.value; ++row_end_) {
    deadline_[row_end_] = kTickNever;
  }
  row = SessionCell{.session = registration.session,
                    .shard = registration.shard,
                    .serial = registration.serial,
                    .ttl_ms = registration.ttl_ms,
                    .present = true,
                    .led = led};
  link(registration.row);
  ++registration_count_;
  heard_[registration.row.value] = now;
  set_deadline(registration.row, led ? now + ttl_ticks(row.ttl_ms) : kTickNever);
}

void SessionClock::on_dying(SessionRow row, Tick now) {
  SessionCell& dying = rows_[row.value];
  GCOORD_ASSERT(dying.present);
  dying.dying = true;
  dying.delaying = false;
  dying.proposed = false;
  set_deadline(row, dying.led ? now : kTickNever);
}

void SessionClock::on_delaying(SessionRow row) {
  SessionCell& delaying = rows_[row.value];
  GCOORD_ASSERT(delaying.present);
  delaying.dying = true;
  delaying.delaying = true;
  delaying.proposed = false;
  set_deadline(row, kTickNever);
}

void SessionClock::on_come_too_late(SessionRow row, Tick now) {
  GCOORD_ASSERT(rows_[row.value].present);
  heard_[row.value] = Tick{};
  set_deadline(row, rows_[row.value].led ? now : kTickNever);
}

void SessionClock::on_broken(SessionRow row, std::int32_t change) {
  SessionCell& broken = rows_[row.value];
  const std::int64_t count = std::int64_t{broken.broken_count} + change;
  GCOORD_ASSERT(broken.present && count >= 0 && count <= kBrokenCountMax);
  broken.broken_count = static_cast<std::uint32_t>(count) & kBrokenCountMax;
}

void SessionClock::on_removed(SessionRow row, bool over) {
  GCOORD_ASSERT(rows_[row.value].present);
  if (over) {
    over_->remember(rows_[row.value].session);
  }
  unlink(row);
  rows_[row.value] = SessionCell{};
  deadline_[row.value] = kTickNever;
  GCOORD_ASSERT(registration_count_ > 0);
  --registration_count_;
}

void SessionClock::on_led(SessionRow row, Tick now, std::uint64_t election_ticks) {
  SessionCell& led = rows_[row.value];
  GCOORD_ASSERT(led.present);
  led.led = true;
  led.proposed = false;
  const Tick continued = heard_[row.value] + ttl_ticks(led.ttl_ms) + election_ticks;
  const Tick ending = led.delaying ? kTickNever : now;
  set_deadline(row, led.dying ? ending : continued);
}

void SessionClock::on_not_led(SessionRow row) {
  GCOORD_ASSERT(rows_[row.value].present);
  rows_[row.value].led = false;
  rows_[row.value].proposed = false;
  deadline_[row.value] = kTickNever;
}

RenewOutcome SessionClock::renew(SessionId session, Tick now) {
  return renew_session(columns(), session, now);
}

// A memory that is shared has another lock than the columns.
SessionColumns SessionClock::columns() {
  const OverSessions::View over = over_->shared() ? OverSessions::View{} : over_->view();
  return {.deadline = deadline_.data(),
          .heard = heard_.data(),
          .cells = rows_.data(),
          .row_end = row_end_,
          .first_of_session = first_of_session_.view(),
          .over_ring = over.ring,
          .over_capacity = over.capacity,
          .over_index = over.index,
          .index_seed = options_.index_seed,
          .tick_ms = options_.tick_ms};
}

void SessionClock::renew_all(std::span<const SessionId> sessions,
                             Tick now,
                             std::span<RenewOutcome> outcomes) {
  GCOORD_ASSERT(outcomes.empty() || outcomes.size() == sessions.size());
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const RenewOutcome outcome = renew(sessions[i], now);
    if (!outcomes.empty()) {
      outcomes[i] = outcome;
    }
  }
}

// Blocks of rows that `passes` says yes to are not looked at: no deadline there is before
// `passed_earliest`. From the block where the last pass stopped, so that a small `out` starves
// nobody; a pass that comes round leaves it where it was.
template <typename Passes, typename Take>
std::size_t SessionClock::scan(Tick now,
                               std::span<ExpiryProposal> out,
                               Tick passed_earliest,
                               const Passes& passes,
                               const Take& take) {
  const std::uint32_t block_count = (row_end_ + kScanBlockRows - 1) / kScanBlockRows;
  const std::uint32_t first_block = scan_block_ % block_count;
  std::size_t count = 0;
  Tick left_earliest = passed_earliest;
  for (std::uint32_t i = 0; i < block_count; ++i) {
    const std::uint32_t at = (first_block + i) % block_count;
    if (passes(at)) {
      continue;
    }
    const std::uint32_t start = at * kScanBlockRows;
    const std::uint32_t end = std::min(start + kScanBlockRows, row_end_);
    const std::span<const Tick> block{deadline_.data() + start, end - start};
    Tick left = earliest(block);
    if (left <= now) {
      count += take_block(start, end, out.subspan(count), take);
      left = earliest(block);
    }
    if (left <= now) {
      scan_block_ = at;
      return count;  // `out` is full, and this block has more: the bound stays.
    }
    left_earliest = min_id(left_earliest, left);
  }
  due_bound_ = left_earliest;
  return count;
}

std::size_t SessionClock::expired(Tick now, std::span<ExpiryProposal> out) {
  if (now < due_bound_) {
    return 0;
  }
  return scan(now,
              out,
              kTickNever,
              passes_none,
              [all = columns(), now](SessionRow row, ExpiryProposal& due) {
                const bool is = is_due(all, row, now);
                due = is ? take_due(all, row) : due;
                return is;
              });
}

bool SessionClock::collect(SessionRow row, Tick now, ExpiryProposal& due) {
  const SessionColumns all = columns();
  const bool is = is_due(all, row, now);
  if (is) {
    due = take_due(all, row);
    all.cells[row.value].proposed = false;
  }
  return is;
}

std::size_t SessionClock::collect_due(Tick now, std::span<ExpiryProposal> out) {
  if (now < due_bound_) {
    return 0;
  }
  return scan(now, out, kTickNever, passes_none, [&](SessionRow row, ExpiryProposal& due) {
    return collect(row, now, due);
  });
}

// A named block is right no more in the copy, whatever becomes of it here: what is taken is due no
// more, and the rest was not due.
std::size_t SessionClock::collect_among(const DueQuery& look,
                                        Tick now,
                                        std::span<ExpiryProposal> out) {
  const auto passes = [&](std::uint32_t block) {
    if (!look.names_any(block * kScanBlockRows, kScanBlockRows)) {
      return true;
    }
    lowered_.add(block * kScanBlockRows);
    return false;
  };
  return scan(now, out, look.later, passes, [&](SessionRow row, ExpiryProposal& due) {
    return collect(row, now, due);
  });
}

bool SessionClock::missed_by(const DueQuery& look, Tick now) const {
  return missed_by(look, now, {.first = 0, .end = row_end_});
}

// Row 0 is never due.
bool SessionClock::missed_by(const DueQuery& look, Tick now, const RowRange& rows) const {
  for (std::uint32_t row = rows.first; row < std::min(rows.end, row_end_); ++row) {
    if (deadline_[row] < max_id(look.later, now + 1) && !look.names(row)) {
      return true;
    }
  }
  return false;
}

bool SessionClock::collected(const ExpiryProposal& due_row) const {
  const SessionCell& row = rows_[due_row.row.value];
  return still(due_row) && row.led && !row.proposed && !row.delaying &&
         deadline_[due_row.row.value] == kTickNever;
}

void SessionClock::put_off(const ExpiryProposal& due_row, Tick due) {
  if (still(due_row) && !rows_[due_row.row.value].proposed) {
    set_deadline(due_row.row, due);
  }
}

// Meanwhile the row may serve another registration, or none.
bool SessionClock::still(const ExpiryProposal& proposal) const {
  const SessionCell& row = rows_[proposal.row.value];
  return row.present && row.session == proposal.session && row.shard == proposal.shard &&
         row.serial == proposal.serial;
}

void SessionClock::on_expiry_refused(const ExpiryProposal& proposal, Tick due) {
  SessionCell& row = rows_[proposal.row.value];
  if (!still(proposal) || !row.proposed) {
    return;
  }
  row.proposed = false;
  set_deadline(proposal.row, due);
}

bool SessionClock::propose(const ExpiryProposal& proposal) {
  SessionCell& row = rows_[proposal.row.value];
  if (!still(proposal) || row.proposed || !row.led) {
    return false;
  }
  row.proposed = true;
  deadline_[proposal.row.value] = kTickNever;
  return true;
}

std::uint64_t SessionClock::remaining_ticks(SessionRow row, Tick now) const {
  const Tick deadline = deadline_[row.value];
  return deadline == kTickNever || deadline <= now ? 0 : deadline - now;
}

std::uint64_t SessionClock::silent_ticks(SessionRow row, Tick now) const {
  GCOORD_ASSERT(rows_[row.value].present);
  const Tick heard = heard_[row.value];
  return heard < now ? now - heard : 0;
}

std::vector<Registration> SessionClock::registrations_of(SessionId session) const {
  std::vector<Registration> registrations;
  for (SessionRow row = find_first(session); row.value != 0; row = rows_[row.value].next) {
    const SessionCell& each = rows_[row.value];
    registrations.push_back({row, each.shard, each.session, each.serial, each.ttl_ms});
  }
  return registrations;
}

bool SessionClock::is_ending(SessionId session) const {
  for (SessionRow row = find_first(session); row.value != 0; row = rows_[row.value].next) {
    if (rows_[row.value].dying || rows_[row.value].proposed) {
      return true;
    }
  }
  return false;
}

}  // namespace gcoord::sessions
