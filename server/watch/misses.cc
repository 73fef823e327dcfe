#include "server/watch/misses.h"

namespace gcoord::server {

void WatchMisses::add(ShardId shard, LogIndex first) {
  ++newest_;
  if (missed_.empty()) {
    round_newest_ = newest_;
    place_ = {};
  }
  missed_[shard.value] = {first, newest_};
}

std::optional<WatchMisses::Miss> WatchMisses::of(const Watch& watch) const {
  if (missed_.empty() || watch.misses == newest_) {
    return std::nullopt;
  }
  const WatchFilter& filter = watch.target->filter;
  auto each = missed_.lower_bound(filter.shard_first.value);
  for (; each != missed_.end() && filter.covers(ShardId{each->first}); ++each) {
    if (each->second.number > watch.misses) {
      return Miss{ShardId{each->first}, each->second.first};
    }
  }
  return std::nullopt;
}

bool WatchMisses::must_stop(WatchTargetState& target, ShardId shard) const {
  if (missed_.empty() || target.misses == newest_) {
    return false;
  }
  const auto found = missed_.find(shard.value);
  if (found == missed_.end() || found->second.number <= target.misses) {
    return false;
  }
  target.misses = newest_;
  return true;
}

Watch* WatchMisses::next(const WatchRegister& watches) {
  if (Watch* const watch = watches.behind(place_)) {
    place_ = WatchRegister::place_of(*watch);
    return watch;
  }
  std::erase_if(missed_, [this](const auto& each) { return each.second.number <= round_newest_; });
  round_newest_ = newest_;
  place_ = {};
  return nullptr;
}

}  // namespace gcoord::server
