#include "server/watch/watch.h"

namespace gcoord::server {

bool Watch::wants(const WatchRecord& record) const {
  const auto first = from.find(record.shard.value);
  return first == from.end() ? cursor >= opened_at : record.revision.value >= first->second;
}

bool Watch::was_away(const WatchMove& move) const {
  return move_number == 0 && !move.left && move.number > 1;
}

std::optional<FollowTurn> Watch::turn_at(const WatchMove& move) const {
  if (move.left) {
    return FollowTurn{move.other, move.number};
  }
  if (was_away(move)) {
    return FollowTurn{move.other, move.number - 1};
  }
  return std::nullopt;
}

}  // namespace gcoord::server
