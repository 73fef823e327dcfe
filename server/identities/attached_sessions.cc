#include "server/identities/attached_sessions.h"

#include "common/assert.h"
#include "common/random.h"

#include <utility>

namespace gcoord::server {
namespace {

constexpr std::size_t kPlacesMin = 16;

}  // namespace

AttachedSessions::~AttachedSessions() {
  if (budget_ != nullptr) {
    budget_->used -= count_;
  }
}

// Where the id is, or the free place where it belongs. There is always a free one.
std::size_t AttachedSessions::place_of(std::uint64_t id) const {
  const std::size_t mask = places_.size() - 1;
  std::size_t place = mix64(id) & mask;
  while (places_[place] != 0 && places_[place] != id) {
    place = (place + 1) & mask;
  }
  return place;
}

void AttachedSessions::grow() {
  std::vector<std::uint64_t> before(places_.empty() ? kPlacesMin : 2 * places_.size());
  before.swap(places_);
  for (const std::uint64_t id : before) {
    if (id != 0) {
      places_[place_of(id)] = id;
    }
  }
}

bool AttachedSessions::add(SessionId session) {
  GCOORD_ASSERT(session.value != 0);
  if (contains(session)) {
    return true;
  }
  if (count_ == kAttachedMax || (budget_ != nullptr && !budget_->has_room(count_))) {
    return false;
  }
  if (2 * (count_ + 1) > places_.size()) {
    grow();
  }
  places_[place_of(session.value)] = session.value;
  ++count_;
  if (budget_ != nullptr) {
    ++budget_->used;
  }
  return true;
}

// What stands behind it in the same run moves up where it may, so that no probe ends too early.
void AttachedSessions::remove(SessionId session) {
  if (!contains(session)) {
    return;
  }
  const std::size_t mask = places_.size() - 1;
  std::size_t hole = place_of(session.value);
  places_[hole] = 0;
  for (std::size_t place = (hole + 1) & mask; places_[place] != 0; place = (place + 1) & mask) {
    const std::size_t home = mix64(places_[place]) & mask;
    if (((place - home) & mask) >= ((place - hole) & mask)) {
      places_[hole] = std::exchange(places_[place], 0);
      hole = place;
    }
  }
  --count_;
  if (budget_ != nullptr) {
    --budget_->used;
  }
}

bool AttachedSessions::contains(SessionId session) const {
  return session.value != 0 && !places_.empty() &&
         places_[place_of(session.value)] == session.value;
}

}  // namespace gcoord::server
