#include "server/restore/states.h"

#include "ledger/base/error_details.h"
#include "locks/snapshot/snapshot.h"
#include "membership/groups/snapshot.h"
#include "membership/rendezvous/snapshot.h"

#include <algorithm>

namespace gcoord::server {

namespace {

Status refusal_of(const Status& status) {
  const bool range = status.code() == StatusCode::OutOfRange;
  return {status.code(),
          status.message(),
          range ? ledger::kRestoreRefused : ledger::kSnapshotImpossible};
}

Status impossible(const Status& status) {
  return {StatusCode::DataLoss, status.message(), ledger::kSnapshotImpossible};
}

// The parts of groups and of rendezvous as a new cluster begins with them; empty: there are none.
Result<std::vector<std::byte>> raised_groups(std::span<const std::byte> state,
                                             std::uint64_t raise,
                                             bool drop_sessions) {
  const membership::StateParts parts = membership::split_state(state);
  std::vector<std::byte> raised;
  if (!parts.groups.empty()) {
    auto groups = membership::raise_snapshot(parts.groups, raise, drop_sessions);
    if (!groups.ok()) {
      return refusal_of(groups.status());
    }
    raised = std::move(groups).value();
  }
  const membership::RendezvousParts rest = membership::split_rendezvous(parts.locks);
  if (!rest.rendezvous.empty()) {
    const auto rendezvous = membership::raise_rendezvous(rest.rendezvous, raise, drop_sessions);
    if (!rendezvous.ok()) {
      return refusal_of(rendezvous.status());
    }
    raised.insert(raised.end(), rendezvous.value().begin(), rendezvous.value().end());
  }
  return raised;
}

}  // namespace

std::span<const std::byte> lock_state_of(std::span<const std::byte> state) {
  return membership::split_rendezvous(membership::split_state(state).locks).rest;
}

Result<StateSummary> summarize_state(std::span<const std::byte> state) {
  StateSummary summary;
  if (state.empty()) {
    return summary;
  }
  const membership::StateParts parts = membership::split_state(state);
  if (!parts.groups.empty()) {
    const auto groups = membership::parse_snapshot(parts.groups);
    if (!groups.ok()) {
      return impossible(groups.status());
    }
    summary.groups = groups.value().groups.size();
  }
  const membership::RendezvousParts rest = membership::split_rendezvous(parts.locks);
  if (!rest.rendezvous.empty()) {
    if (const auto rendezvous = membership::parse_rendezvous(rest.rendezvous); !rendezvous.ok()) {
      return impossible(rendezvous.status());
    }
  }
  const auto snapshot = locks::parse_snapshot(rest.rest);
  if (!snapshot.ok()) {
    return impossible(snapshot.status());
  }
  summary.sessions = snapshot.value().sessions.size();
  summary.locks = snapshot.value().locks.size();
  summary.waiters = snapshot.value().waiters.size();
  summary.token_last = snapshot.value().token_last;
  for (const locks::LockSnapshot::Session& session : snapshot.value().sessions) {
    // As LockService::start lays it into the ids.
    const auto ordinal = static_cast<std::uint32_t>(session.session.value >> 32 & 0xffffu);
    summary.ordinal_newest = std::max(summary.ordinal_newest, ordinal);
  }
  return summary;
}

Result<std::vector<std::byte>> restored_state(std::span<const std::byte> state,
                                              const StateChange& change) {
  GCOORD_TRY(const StateSummary summary, summarize_state(state));
  std::span<const std::byte> locks_state = lock_state_of(state);
  std::vector<std::byte> settled;
  if (!change.fixes.empty()) {
    auto made = locks::settled_state(locks_state, change.fixes);
    if (!made.ok()) {
      return impossible(made.status());
    }
    settled = std::move(made).value();
    locks_state = settled;
  }
  const std::uint64_t lift = change.token_floor - std::min(change.token_floor, summary.token_last);
  constexpr std::uint64_t kTokenMax = ~std::uint64_t{0};
  const std::uint64_t raise =
      change.token_bump > kTokenMax - lift ? kTokenMax : change.token_bump + lift;
  auto raised = locks::raise_snapshot(
      locks_state,
      raise,
      change.drop_sessions ? locks::SnapshotSessions::Drop : locks::SnapshotSessions::Keep);
  if (!raised.ok()) {
    return refusal_of(raised.status());
  }
  auto whole = raised_groups(state, raise, change.drop_sessions);
  if (!whole.ok()) {
    return whole.status();
  }
  whole.value().insert(whole.value().end(), raised.value().begin(), raised.value().end());
  return whole;
}

}  // namespace gcoord::server
