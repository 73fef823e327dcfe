#include "server/restore/states.h"

#include "ledger/base/error_details.h"
#include "locks/snapshot/snapshot.h"

#include <algorithm>

namespace gcoord::server {

Result<StateSummary> summarize_state(std::span<const std::byte> state) {
  StateSummary summary;
  if (state.empty()) {
    return summary;
  }
  const auto snapshot = locks::parse_snapshot(state);
  if (!snapshot.ok()) {
    return Status{StatusCode::DataLoss, snapshot.status().message(), ledger::kSnapshotImpossible};
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
  std::vector<std::byte> settled;
  if (!change.fixes.empty()) {
    auto made = locks::settled_state(state, change.fixes);
    if (!made.ok()) {
      return Status{StatusCode::DataLoss, made.status().message(), ledger::kSnapshotImpossible};
    }
    settled = std::move(made).value();
    state = settled;
  }
  const std::uint64_t lift = change.token_floor - std::min(change.token_floor, summary.token_last);
  constexpr std::uint64_t kTokenMax = ~std::uint64_t{0};
  auto raised = locks::raise_snapshot(
      state,
      change.token_bump > kTokenMax - lift ? kTokenMax : change.token_bump + lift,
      change.drop_sessions ? locks::SnapshotSessions::Drop : locks::SnapshotSessions::Keep);
  if (!raised.ok()) {
    const bool range = raised.status().code() == StatusCode::OutOfRange;
    return Status{raised.status().code(),
                  raised.status().message(),
                  range ? ledger::kRestoreRefused : ledger::kSnapshotImpossible};
  }
  return raised;
}

}  // namespace gcoord::server
