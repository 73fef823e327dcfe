#include "locks/cpu/node_clock.h"

#include "common/assert.h"

#include <algorithm>

namespace gcoord::locks {
namespace {

// Adds what one part renewed.
void merge(sessions::RenewOutcome& all, const sessions::RenewOutcome& one) {
  using sessions::RenewCode;
  if (one.code == RenewCode::NotRegistered || all.code == RenewCode::Lost) {
    return;
  }
  if (one.code == RenewCode::Lost || all.code == RenewCode::NotRegistered) {
    all = one;
    return;
  }
  all.registration_count += one.registration_count;
  all.ttl_ms_min = std::min(all.ttl_ms_min, one.ttl_ms_min);
  all.broken = all.broken || one.broken;
}

}  // namespace

sessions::RenewOutcome NodeClock::renew(SessionId session, Tick now) {
  if (parts_.over() != nullptr) {
    bool over = parts_.over()->remembers(session);
    for (std::uint32_t number = 0; number < parts_.count() && !over; ++number) {
      over = parts_.at(number)->clock().is_ending(session);
    }
    if (over) {
      return {.code = sessions::RenewCode::Lost};
    }
  }
  sessions::RenewOutcome all;
  for (std::uint32_t number = 0; number < parts_.count(); ++number) {
    merge(all, parts_.at(number)->clock().renew(session, now));
  }
  return all;
}

void NodeClock::renew_all(std::span<const SessionId> sessions,
                          Tick now,
                          std::span<sessions::RenewOutcome> outcomes) {
  GCOORD_ASSERT(outcomes.empty() || outcomes.size() == sessions.size());
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const sessions::RenewOutcome outcome = renew(sessions[i], now);
    if (!outcomes.empty()) {
      outcomes[i] = outcome;
    }
  }
}

// Each time from another part on, so that a small `out` starves nobody.
template <typename Take>
std::size_t NodeClock::take_from_parts(std::span<sessions::ExpiryProposal> out, const Take& take) {
  std::size_t count = 0;
  const std::uint32_t first = first_++ % parts_.count();
  for (std::uint32_t k = 0; k < parts_.count() && count < out.size(); ++k) {
    const auto part = parts_.at((first + k) % parts_.count());
    const std::span<sessions::ExpiryProposal> room = out.subspan(count);
    const std::size_t taken = take(part->clock(), room);
    for (sessions::ExpiryProposal& each : room.first(taken)) {
      each.row = parts_.outside(part.number(), each.row);
    }
    count += taken;
  }
  return count;
}

std::size_t NodeClock::expired(Tick now, std::span<sessions::ExpiryProposal> out) {
  return take_from_parts(
      out, [now](sessions::SessionClock& clock, auto room) { return clock.expired(now, room); });
}

std::size_t NodeClock::collect_due(Tick now, std::span<sessions::ExpiryProposal> out) {
  return take_from_parts(out, [now](sessions::SessionClock& clock, auto room) {
    return clock.collect_due(now, room);
  });
}

sessions::ExpiryProposal NodeClock::inside(sessions::ExpiryProposal proposal) const {
  proposal.row = parts_.inside(proposal.row);
  return proposal;
}

bool NodeClock::collected(const sessions::ExpiryProposal& due_row) const {
  return parts_.of_row(due_row.row)->clock().collected(inside(due_row));
}

void NodeClock::put_off(const sessions::ExpiryProposal& due_row, Tick due) {
  parts_.of_row(due_row.row)->clock().put_off(inside(due_row), due);
}

bool NodeClock::propose(const sessions::ExpiryProposal& proposal) {
  return parts_.of_row(proposal.row)->clock().propose(inside(proposal));
}

void NodeClock::on_expiry_refused(const sessions::ExpiryProposal& proposal, Tick due) {
  parts_.of_row(proposal.row)->clock().on_expiry_refused(inside(proposal), due);
}

bool NodeClock::still(const sessions::ExpiryProposal& proposal) const {
  return parts_.of_row(proposal.row)->clock().still(inside(proposal));
}

bool NodeClock::dying(SessionRow row) const {
  return parts_.of_row(row)->clock().dying(parts_.inside(row));
}

bool NodeClock::proposed(SessionRow row) const {
  return parts_.of_row(row)->clock().columns().cells[parts_.inside(row).value].proposed;
}

std::uint32_t NodeClock::ttl_ms(SessionRow row) const {
  return parts_.of_row(row)->clock().ttl_ms(parts_.inside(row));
}

std::uint32_t NodeClock::broken_count(SessionRow row) const {
  return parts_.of_row(row)->clock().broken_count(parts_.inside(row));
}

std::uint64_t NodeClock::remaining_ticks(SessionRow row, Tick now) const {
  return parts_.of_row(row)->clock().remaining_ticks(parts_.inside(row), now);
}

std::uint64_t NodeClock::silent_ticks(SessionRow row, Tick now) const {
  return parts_.of_row(row)->clock().silent_ticks(parts_.inside(row), now);
}

std::vector<sessions::Registration> NodeClock::registrations_of(SessionId session) const {
  std::vector<sessions::Registration> all;
  for (std::uint32_t number = 0; number < parts_.count(); ++number) {
    for (sessions::Registration each : parts_.at(number)->clock().registrations_of(session)) {
      each.row = parts_.outside(number, each.row);
      all.push_back(each);
    }
  }
  return all;
}

bool NodeClock::remembers_expired(SessionId session) const {
  return parts_.at(0)->clock().over().remembers(session);
}

std::uint32_t NodeClock::registration_count() const {
  std::uint32_t count = 0;
  for (std::uint32_t number = 0; number < parts_.count(); ++number) {
    count += parts_.at(number)->clock().registration_count();
  }
  return count;
}

Tick NodeClock::next_deadline() const {
  Tick next = kTickNever;
  for (std::uint32_t number = 0; number < parts_.count(); ++number) {
    next = min_id(next, parts_.at(number)->clock().next_deadline());
  }
  return next;
}

sessions::SessionClock* NodeClock::only() const {
  LockPart* const part = parts_.only();
  return part == nullptr ? nullptr : &part->clock();
}

std::size_t NodeDelays::due(Tick now, std::span<DelayedLock> out) {
  std::size_t count = 0;
  const std::uint32_t first = first_++ % parts_.count();
  for (std::uint32_t k = 0; k < parts_.count() && count < out.size(); ++k) {
    count += parts_.at((first + k) % parts_.count())->delays().due(now, out.subspan(count));
  }
  return count;
}

void NodeDelays::on_refused(ShardId shard, FencingToken token, Tick again) {
  parts_.of(shard)->delays().on_refused(shard, token, again);
}

Tick NodeDelays::next_deadline() const {
  Tick next = kTickNever;
  for (std::uint32_t number = 0; number < parts_.count(); ++number) {
    next = min_id(next, parts_.at(number)->delays().next_deadline());
  }
  return next;
}

std::size_t NodeDelays::size() const {
  std::size_t count = 0;
  for (std::uint32_t number = 0; number < parts_.count(); ++number) {
    count += parts_.at(number)->delays().size();
  }
  return count;
}

}  // namespace gcoord::locks
