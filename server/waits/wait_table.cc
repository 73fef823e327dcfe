#include "server/waits/wait_table.h"

#include "common/assert.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

void WaitTable::forget_deadline(const WaitKey& key, const Wait& wait) {
  if (wait.deadline != kTickNever) {
    due_.erase(Due{wait.deadline, key});
  }
}

// A search of the tree costs a cache miss for each of its levels, and of the commands that look for
// a wait nearly all belong to shards that have none.
WaitTable::Waits::iterator WaitTable::find(const WaitKey& key) {
  return count_of(key.shard) == 0 ? waits_.end() : waits_.find(key);
}

WaitTable::Waits::const_iterator WaitTable::find(const WaitKey& key) const {
  return count_of(key.shard) == 0 ? waits_.end() : waits_.find(key);
}

void WaitTable::erase(Waits::iterator place) {
  std::uint32_t& count = counts_[place->first.shard.value];
  GCOORD_ASSERT(count != 0);
  --count;
  waits_.erase(place);
}

std::optional<Wait> WaitTable::bind(const WaitKey& key, const Wait& wait) {
  std::optional<Wait> replaced;
  const auto [place, added] = waits_.try_emplace(key, wait);
  if (!added) {
    forget_deadline(key, place->second);
    replaced = std::exchange(place->second, wait);
  } else {
    const std::size_t shard = key.shard.value;
    counts_.resize(std::max(counts_.size(), shard + 1));
    ++counts_[shard];
  }
  place->second.number = ++bound_;
  if (wait.deadline != kTickNever) {
    due_.insert(Due{wait.deadline, key});
  }
  return replaced;
}

std::optional<Wait> WaitTable::take(const WaitKey& key) {
  const auto found = find(key);
  if (found == waits_.end()) {
    return std::nullopt;
  }
  std::optional<Wait> wait = std::move(found->second);
  forget_deadline(key, *wait);
  erase(found);
  return wait;
}

std::optional<std::uint64_t> WaitTable::started_us(const WaitKey& key) const {
  const auto found = find(key);
  return found == waits_.end() ? std::nullopt
                               : std::optional<std::uint64_t>(found->second.started_us);
}

void WaitTable::set_deadline(const WaitKey& key, Tick deadline) {
  const auto found = find(key);
  if (found == waits_.end()) {
    return;
  }
  forget_deadline(key, found->second);
  found->second.deadline = deadline;
  if (deadline != kTickNever) {
    due_.insert(Due{deadline, key});
  }
}

void WaitTable::refuse(const WaitKey& key, Tick now, std::string why) {
  const auto found = find(key);
  if (found != waits_.end()) {
    found->second.refusal = std::make_shared<const std::string>(std::move(why));
    set_deadline(key, now);
  }
}

std::optional<WaitKey> WaitTable::next_due(Tick now) {
  if (due_.empty() || now < due_.begin()->deadline) {
    return std::nullopt;
  }
  const WaitKey key = due_.begin()->key;
  set_deadline(key, kTickNever);
  return key;
}

void WaitTable::leave(ShardId shard, NodeId leader) {
  if (count_of(shard) != 0) {
    left_[shard.value] = {leader, bound_, WaitKey{shard, SessionId{}, RequestSequence{}}};
  }
}

// One that was bound later is left out: this node leads the shard again.
std::optional<LeftWait> WaitTable::next_left() {
  while (!left_.empty()) {
    const ShardId shard{left_.begin()->first};
    Left& left = left_.begin()->second;
    auto next = waits_.lower_bound(left.from);
    while (next != waits_.end() && next->first.shard == shard &&
           next->second.number > left.newest) {
      ++next;
    }
    if (next == waits_.end() || next->first.shard != shard) {
      left_.erase(left_.begin());
      continue;
    }
    LeftWait found{std::move(next->second), left.leader};
    left.from = next->first;
    forget_deadline(next->first, found.wait);
    erase(next);
    return found;
  }
  return std::nullopt;
}

std::optional<NodeId> WaitTable::left_to(ShardId shard, std::uint64_t number) const {
  const auto found = left_.find(shard.value);
  const bool left = found != left_.end() && number <= found->second.newest;
  return left ? std::optional{found->second.leader} : std::nullopt;
}

Tick WaitTable::next_deadline() const {
  return due_.empty() ? kTickNever : due_.begin()->deadline;
}

}  // namespace gcoord::server
