#include "server/watch/watch_filters.h"

#include <algorithm>

namespace gcoord::server {

using locks::Residence;
using protocol::ErrorCode;

ErrorCode WatchFilters::make(const protocol::RequestSlot& request,
                             const protocol::WatchQuery& query,
                             WatchFilter& filter) const {
  filter = {.target = query.target,
            .text = query.text,
            .session = query.session,
            .queue = request.has(protocol::RequestFlag::WatchQueue),
            .kinds = query.kinds,
            .previous = request.has(protocol::RequestFlag::WatchPrevious),
            .shard_first = query.shard_first,
            .shard_count = query.shard_count};
  if (query.target == protocol::WatchTarget::Name) {
    filter.shard_first = shard_of(hash_name(query.text), shard_count_);
    filter.shard_count = 1;
    filter.follows = request.has(protocol::RequestFlag::WatchFollow);
  } else if (query.shard_count == 0) {
    filter.shard_first = ShardId{0};
    filter.shard_count = shard_count_;
  }
  if (filter.follows && query.from.size() > 1) {
    return ErrorCode::WatchInvalid;
  }
  if (filter.follows && !query.from.empty()) {
    filter.shard_first = query.from.front().shard;
  } else if (filter.follows) {
    const FollowPosition place = place_of(hash_name(query.text));
    filter.shard_first = place.shard;
    filter.arrival = place.arrival;
  }
  if (filter.shard_first.value >= shard_count_ ||
      filter.shard_count > shard_count_ - filter.shard_first.value) {
    return ErrorCode::ShardOutOfRange;
  }
  const bool covered = std::ranges::all_of(
      query.from, [&](const protocol::ShardRevision& each) { return filter.covers(each.shard); });
  return covered ? ErrorCode::None : ErrorCode::WatchInvalid;
}

FollowPosition WatchFilters::place_of(NameHash name) const {
  const ShardId home = shard_of(name, shard_count_);
  const auto at_home = residence_(home, name);
  if (!at_home || at_home->residence != Residence::Away) {
    return {home, at_home ? at_home->move_number : 0, 0};
  }
  const ShardId to = at_home->away_to;
  const auto there = residence_(to, name);
  if (!there || there->move_number < at_home->move_number) {
    return {to, at_home->move_number, at_home->move_number};
  }
  if (there->move_number > at_home->move_number) {
    return {home, at_home->move_number + 1, at_home->move_number + 1};
  }
  return {to, there->move_number, 0};
}

}  // namespace gcoord::server
