#include "client/records/session_lease.h"

#include "common/assert.h"

#include <algorithm>

namespace gcoord::client {

SessionLease::SessionLease(const SessionLeaseOptions& options)
    : options_(options), renewed_from_(options.opened_at), certain_(!options.attached) {
  GCOORD_ASSERT(options.margin < options.ttl);
}

void SessionLease::on_acknowledged(NodeId node, TimePoint sent_at, const VoterLists& voters) {
  const auto known = std::ranges::find(acknowledged_, node, &std::pair<NodeId, TimePoint>::first);
  if (known == acknowledged_.end()) {
    acknowledged_.emplace_back(node, sent_at);
  } else {
    known->second = std::max(known->second, sent_at);
  }
  recount(voters);
}

void SessionLease::recount(const VoterLists& voters) {
  if (const auto reached = voters.reached(acknowledged_)) {
    renewed_from_ = std::max(renewed_from_, *reached);
    certain_ = true;
  }
}

std::optional<SessionEvent> SessionLease::advance(TimePoint now) {
  if (expired_) {
    return std::nullopt;
  }
  if (!lost_ && in_jeopardy_ && now < jeopardy_at()) {
    in_jeopardy_ = false;
    return SessionEvent::Safe;
  }
  // Jeopardy is told even if time jumped past the deadline, so that events always come in order.
  if (!in_jeopardy_ && (lost_ || now >= std::min(jeopardy_at(), deadline()))) {
    in_jeopardy_ = true;
    return SessionEvent::Jeopardy;
  }
  if (lost_ || now >= deadline()) {
    expired_ = true;
    lost_ = true;
    return SessionEvent::Expired;
  }
  return std::nullopt;
}

TimePoint SessionLease::next_event() const {
  if (expired_) {
    return kTimeNever;
  }
  if (lost_) {
    return TimePoint{};
  }
  return in_jeopardy_ ? deadline() : std::min(jeopardy_at(), deadline());
}

TimePoint lease_margin(TimePoint ttl, const ClientOptions& options) {
  const TimePoint margin =
      ttl / std::max<std::uint32_t>(options.drift_divisor, 1) + TimePoint{options.drift_margin};
  // A margin as long as the lease would leave nothing; half is the most that is taken.
  return std::min(margin, ttl / 2);
}

}  // namespace gcoord::client
