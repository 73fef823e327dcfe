#include "server/sessions/views.h"

#include "locks/state/broken.h"
#include "locks/state/delay.h"
#include "locks/state/share.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

std::uint32_t session_left_ms(const locks::NodeClock& clock,
                              const SessionTime& time,
                              std::uint32_t tick_ms,
                              Tick now) {
  if (time.led) {
    const std::uint64_t left_ms = clock.remaining_ticks(time.row, now) * tick_ms;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(left_ms, time.ttl_ms));
  }
  const std::uint64_t silent_ms = clock.silent_ticks(time.row, now) * tick_ms;
  return static_cast<std::uint32_t>(time.ttl_ms - std::min<std::uint64_t>(silent_ms, time.ttl_ms));
}

namespace {

// Holds, less what stays of those that were broken by force (lock_broken.h).
std::uint32_t held_count(const locks::LockCpu& locks, locks::SessionRow row) {
  const std::uint32_t holds = locks.session(row).hold_count;
  return holds - std::min(holds, locks.clock().broken_count(row));
}

bool lives(const locks::LockCpu& locks, locks::SessionRow row) {
  return locks.session(row).phase == locks::SessionPhase::Live;
}

}  // namespace

SessionViews::SessionViews(const SessionViewOptions& options,
                           const locks::LockCpu& locks,
                           Leads leads)
    : options_(options), locks_(locks), leads_(std::move(leads)) {}

protocol::SessionRow SessionViews::row_of(SessionId session,
                                          const std::vector<sessions::Registration>& registrations,
                                          Tick now) const {
  const ShardId home = protocol::home_shard(session, options_.shard_count);
  protocol::SessionRow shown;
  shown.session = session;
  for (const sessions::Registration& each : registrations) {
    if (!lives(locks_, each.row)) {
      continue;  // What it has left is nobody's: locks in their delay, or on their way out.
    }
    ++shown.registration_count;
    const std::uint32_t left_ms = session_left_ms(
        locks_.clock(), {each.row, each.ttl_ms, leads_(each.shard)}, options_.tick_ms, now);
    const bool first = shown.ttl_ms == 0;
    shown.ttl_ms = first ? each.ttl_ms : std::min(shown.ttl_ms, each.ttl_ms);
    shown.remaining_ms = first ? left_ms : std::min(shown.remaining_ms, left_ms);
    shown.lock_count += held_count(locks_, each.row);
    shown.granted = shown.granted || each.shard == home;
  }
  return shown;
}

void SessionViews::add_keys(const sessions::Registration& registration,
                            std::vector<std::string>& keys) const {
  const locks::LockView view = locks_.view(registration.shard);
  const locks::LockTables& tables = view.tables();
  locks::LockRow lock = tables.sessions[view.row(registration.row)].hold_first;
  while (lock.value != 0 && keys.size() < protocol::kSessionKeysMax) {
    const locks::LockRow self = lock;
    const locks::LockRecord& record = tables.locks[lock];
    lock = record.hold_next;
    if (is_broken(record)) {
      continue;  // It holds it no more; who broke it is another question (SessionLosses).
    }
    const locks::LockRow named = locks::is_share(record) ? locks::head_of(record) : self;
    const auto held = locks_.held(view.outside(named), [](ShardId) { return true; });
    if (held.has_value()) {
      keys.push_back(held->name);
    }
  }
}

protocol::SessionDetails SessionViews::describe(SessionId session, Tick now) const {
  const auto registrations = locks_.clock().registrations_of(session);
  protocol::SessionDetails details;
  details.row = row_of(session, registrations, now);
  for (const sessions::Registration& each : registrations) {
    if (lives(locks_, each.row)) {
      add_keys(each, details.keys);
    }
  }
  std::ranges::sort(details.keys);
  return details;
}

std::uint64_t SessionViews::lock_count(SessionId session) const {
  std::uint64_t count = 0;
  for (const sessions::Registration& each : locks_.clock().registrations_of(session)) {
    const locks::LockView view = locks_.view(each.shard);
    const locks::LockTables& tables = view.tables();
    const locks::SessionRecord& record = tables.sessions[view.row(each.row)];
    count += held_count(locks_, each.row);
    locks::RequestRow row = locks::first_request(record);
    for (; row.value != 0; row = tables.requests[row].next) {
      count += tables.requests[row].code == locks::LockCode::Waiting ? 1 : 0;
    }
  }
  return count;
}

// Exactly one node lists a session that lives: who leads its home, or its first shard if it has no
// home.
bool SessionViews::listed_here(const locks::SessionRecord& record) const {
  const bool over = record.phase != locks::SessionPhase::Live;
  if (record.session.value == 0 || over || !leads_(record.shard)) {
    return false;
  }
  const ShardId home = protocol::home_shard(record.session, options_.shard_count);
  if (record.shard == home) {
    return true;
  }
  const auto registrations = locks_.clock().registrations_of(record.session);
  return std::ranges::all_of(registrations, [&](const auto& each) {
    return !lives(locks_, each.row) || (each.shard != home && each.shard >= record.shard);
  });
}

bool SessionViews::matches(const protocol::SessionQuery& query,
                           const protocol::SessionRow& row) const {
  switch (query.filter) {
    case protocol::SessionFilter::Holding:
      return row.lock_count > 0 && row.remaining_ms < query.remaining_below_ms;
    case protocol::SessionFilter::Idle:
      return row.lock_count == 0 && row.remaining_ms < query.remaining_below_ms;
    case protocol::SessionFilter::All:
      break;
  }
  return row.remaining_ms < query.remaining_below_ms;
}

bool SessionViews::page(const protocol::SessionQuery& query,
                        Tick now,
                        protocol::SessionPage& page) {
  if (rows_listed_ >= kSessionRowsPerTick) {
    return false;
  }
  const std::uint32_t last = locks_.session_row_last().value;
  const std::uint32_t first = std::max(query.cursor, 1u);
  const bool all = query.filter == protocol::SessionFilter::All && query.count_only &&
                   query.remaining_below_ms == ~std::uint32_t{0};
  std::uint32_t row = first;
  for (; row <= last && row - first < kSessionRowsLookedAt && page.rows.size() < query.limit;
       ++row) {
    const locks::SessionRecord record = locks_.session(locks::SessionRow{row});
    if (!listed_here(record)) {
      continue;
    }
    if (all) {
      ++page.count;
      continue;
    }
    const auto registrations = locks_.clock().registrations_of(record.session);
    const protocol::SessionRow shown = row_of(record.session, registrations, now);
    if (matches(query, shown)) {
      ++page.count;
      if (!query.count_only) {
        page.rows.push_back(shown);
      }
    }
  }
  rows_listed_ += row - first;
  page.next_cursor = row <= last ? row : 0;
  return true;
}

}  // namespace gcoord::server
