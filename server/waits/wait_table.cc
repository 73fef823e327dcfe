#include "server/waits/wait_table.h"

namespace gcoord::server {

void WaitTable::forget_deadline(const WaitKey& key, const Wait& wait) {
  if (wait.deadline != kTickNever) {
    due_.erase(Due{wait.deadline, key});
  }
}

std::optional<Wait> WaitTable::bind(const WaitKey& key, const Wait& wait) {
  std::optional<Wait> replaced = take(key);
  waits_.emplace(key, wait);
  if (wait.deadline != kTickNever) {
    due_.insert(Due{wait.deadline, key});
  }
  return replaced;
}

std::optional<Wait> WaitTable::take(const WaitKey& key) {
  const auto found = waits_.find(key);
  if (found == waits_.end()) {
    return std::nullopt;
  }
  const Wait wait = found->second;
  forget_deadline(key, wait);
  waits_.erase(found);
  return wait;
}

std::optional<std::uint64_t> WaitTable::started_us(const WaitKey& key) const {
  const auto found = waits_.find(key);
  return found == waits_.end() ? std::nullopt
                               : std::optional<std::uint64_t>(found->second.started_us);
}

void WaitTable::set_deadline(const WaitKey& key, Tick deadline) {
  const auto found = waits_.find(key);
  if (found == waits_.end()) {
    return;
  }
  forget_deadline(key, found->second);
  found->second.deadline = deadline;
  if (deadline != kTickNever) {
    due_.insert(Due{deadline, key});
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

std::vector<Wait> WaitTable::take_shard(ShardId shard) {
  std::vector<Wait> taken;
  auto next = waits_.lower_bound(WaitKey{shard, SessionId{}, RequestSequence{}});
  while (next != waits_.end() && next->first.shard == shard) {
    forget_deadline(next->first, next->second);
    taken.push_back(next->second);
    next = waits_.erase(next);
  }
  return taken;
}

Tick WaitTable::next_deadline() const {
  return due_.empty() ? kTickNever : due_.begin()->deadline;
}

}  // namespace gcoord::server
