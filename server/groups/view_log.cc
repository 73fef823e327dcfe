#include "server/groups/view_log.h"

#include <algorithm>

namespace gcoord::server {

void ViewLog::add(const membership::GroupChange& change) {
  if (changes_.size() == kViewChangesKept) {
    changes_.pop_front();
  }
  changes_.push_back(change);
}

void ViewLog::forget(ShardId shard) {
  std::erase_if(changes_, [&](const membership::GroupChange& each) { return each.shard == shard; });
}

ViewLog::Changes ViewLog::after(const Known& known, std::size_t limit) const {
  Changes found;
  for (auto each = changes_.rbegin(); each != changes_.rend() && !found.complete; ++each) {
    if (each->shard != known.shard || each->group != known.group) {
      continue;
    }
    found.complete = each->epoch <= known.epoch;
    if (!found.complete) {
      found.rows.push_back(&*each);
    }
  }
  std::ranges::reverse(found.rows);
  found.complete =
      found.complete || (!found.rows.empty() && found.rows.front()->epoch == known.epoch + 1);
  if (found.rows.size() > limit) {
    // The view that does not fit as a whole is for the next answer.
    const std::uint64_t cut = found.rows[limit]->epoch;
    std::erase_if(found.rows, [&](const auto* row) { return row->epoch >= cut; });
  }
  return found;
}

}  // namespace gcoord::server
