#include "server/groups/group_waits.h"

namespace gcoord::server {

bool GroupWaits::add(ShardId shard, NameHash group, GroupWait wait) {
  if (size_ == kGroupWaitsMax) {
    return false;
  }
  next_deadline_ = min_id(next_deadline_, wait.deadline);
  waits_[Key{shard.value, group.low, group.high}].push_back(std::move(wait));
  ++size_;
  return true;
}

void GroupWaits::retry_end(const LateEnd& end) {
  const auto found = waits_.find(Key{end.shard.value, end.group.low, end.group.high});
  if (found == waits_.end()) {
    return;
  }
  for (GroupWait& wait : found->second) {
    if (wait.ending && wait.request.session == end.session.value) {
      wait.ending = false;
      wait.deadline = end.again_at;
      next_deadline_ = min_id(next_deadline_, end.again_at);
    }
  }
}

}  // namespace gcoord::server
