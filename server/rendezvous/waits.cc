#include "server/rendezvous/waits.h"

#include <iterator>
#include <utility>

namespace gcoord::server {

bool RendezvousWaits::add(ShardId shard, NameHash name, RendezvousWait wait) {
  if (size_ == kRendezvousWaitsMax) {
    return false;
  }
  next_deadline_ = min_id(next_deadline_, wait.deadline);
  waits_[Key{shard.value, name.low, name.high}].push_back(std::move(wait));
  ++size_;
  return true;
}

RendezvousWaits::Waits::iterator RendezvousWaits::take_from(
    Waits::iterator each,
    const std::function<bool(RendezvousWait&)>& wanted,
    std::vector<RendezvousWait>& taken) {
  const std::size_t before = taken.size();
  std::erase_if(each->second, [&](RendezvousWait& wait) {
    const bool takes = wanted(wait);
    if (takes) {
      taken.push_back(std::move(wait));
    }
    return takes;
  });
  size_ -= taken.size() - before;
  return each->second.empty() ? waits_.erase(each) : std::next(each);
}

std::vector<RendezvousWait> RendezvousWaits::take(ShardId shard,
                                                  NameHash name,
                                                  const Wanted& wanted) {
  std::vector<RendezvousWait> taken;
  const auto found = waits_.find(Key{shard.value, name.low, name.high});
  if (found != waits_.end()) {
    take_from(found, wanted, taken);
  }
  return taken;
}

std::vector<RendezvousWait> RendezvousWaits::take_of_shard(ShardId shard, const Wanted& wanted) {
  std::vector<RendezvousWait> taken;
  auto each = waits_.lower_bound(Key{shard.value, 0, 0});
  while (each != waits_.end() && std::get<0>(each->first) == shard.value) {
    each = take_from(each, wanted, taken);
  }
  return taken;
}

std::vector<RendezvousWait> RendezvousWaits::take_due(Tick now, const Due& due) {
  std::vector<RendezvousWait> taken;
  if (next_deadline_ > now) {
    return taken;
  }
  next_deadline_ = kTickNever;
  for (auto each = waits_.begin(); each != waits_.end();) {
    const ShardId shard{std::get<0>(each->first)};
    each = take_from(
        each,
        [&](RendezvousWait& wait) {
          if (wait.deadline <= now && due(shard, wait)) {
            return true;
          }
          next_deadline_ = min_id(next_deadline_, wait.deadline);
          return false;
        },
        taken);
  }
  return taken;
}

void RendezvousWaits::retry_end(const LateEnd& end) {
  auto each = waits_.lower_bound(Key{end.shard.value, 0, 0});
  for (; each != waits_.end() && std::get<0>(each->first) == end.shard.value; ++each) {
    for (RendezvousWait& wait : each->second) {
      if (wait.ending && wait.request.session == end.session &&
          wait.request.sequence == end.sequence) {
        wait.ending = false;
        wait.deadline = end.again_at;
        next_deadline_ = min_id(next_deadline_, end.again_at);
      }
    }
  }
}

}  // namespace gcoord::server
