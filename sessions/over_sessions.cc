#include "sessions/over_sessions.h"

#include "common/assert.h"
#include "sessions/columns.h"

namespace gcoord::sessions {

OverSessions::OverSessions(const OverSessionsOptions& options) : options_(options) {
  GCOORD_ASSERT(options.remembered_max > 0);
  ring_.resize(options.remembered_max);
  index_.reserve(options.remembered_max);
}

std::uint32_t OverSessions::hash_of(SessionId session) const {
  return session_clock_hash(session, options_.index_seed);
}

// From 1; 0: it is not remembered.
std::uint32_t OverSessions::place_of(SessionId session) const {
  return index_.view().find(hash_of(session), IsOver{ring_.data(), session});
}

bool OverSessions::remembers(SessionId session) const {
  const auto held = hold();
  return place_of(session) != 0;
}

void OverSessions::forget(SessionId session) {
  const auto held = hold();
  const std::uint32_t place = place_of(session);
  if (place != 0) {
    index_.view().erase(hash_of(session), place);
    ring_[place - 1] = SessionId{};
  }
}

void OverSessions::remember(SessionId session) {
  const auto held = hold();
  if (place_of(session) != 0) {
    return;
  }
  const auto position = static_cast<std::uint32_t>(count_ % ring_.size());
  if (count_ >= ring_.size() && ring_[position] != SessionId{}) {
    index_.view().erase(hash_of(ring_[position]), position + 1);
  }
  ring_[position] = session;
  index_.view().insert(hash_of(session), position + 1);
  ++count_;
}

}  // namespace gcoord::sessions
