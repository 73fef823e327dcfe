#include "server/sessions/heard.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

void HeardSessions::listen(Tick now) {
  if (!young_since_) {
    young_since_ = now;
    old_since_ = now;
  } else if (now - *young_since_ > options_.ttl_ticks_max) {
    turn(now);
  }
}

void HeardSessions::turn(Tick now) {
  old_ = std::exchange(young_, {});
  old_since_ = *std::exchange(young_since_, now);
}

void HeardSessions::note(SessionId session, Tick now) {
  listen(now);
  const std::size_t most = std::max<std::size_t>(options_.count_max / 2, 1);
  if (young_.size() >= most && !young_.contains(session.value)) {
    turn(now);
  }
  young_[session.value] = now;
}

std::optional<std::uint64_t> HeardSessions::silent_ticks(SessionId session, Tick now) const {
  if (!young_since_) {
    return std::nullopt;
  }
  const auto young = young_.find(session.value);
  const auto old = old_.find(session.value);
  const Tick heard = young != young_.end() ? young->second
                     : old != old_.end()   ? old->second
                                           : old_since_;
  return now - std::min(now, heard);
}

}  // namespace gcoord::server
