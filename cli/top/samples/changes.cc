#include "cli/top/samples/changes.h"

namespace gcoord::cli::top {

void RecentChanges::note(const client::WatchBatch& batch, std::uint64_t at_ms) {
  const std::lock_guard lock(mutex_);
  for (const client::WatchEvent& event : batch.events) {
    all_.push_back({.at_ms = at_ms,
                    .kind = event.kind,
                    .name = event.name,
                    .token = event.token,
                    .session_id = event.session_id,
                    .shard = batch.shard,
                    .revision = batch.revision});
    keep_followed(all_.back());
    if (all_.size() > kChangesOfAllMax) {
      all_.pop_front();
    }
  }
}

void RecentChanges::keep_followed(const Change& change) {
  if (name_.empty() || change.name != name_) {
    return;
  }
  own_.push_back(change);
  if (own_.size() > kChangesOfOneMax) {
    own_.pop_front();
  }
}

void RecentChanges::follow(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (name == name_) {
    return;
  }
  name_ = name;
  own_.clear();
  for (const Change& change : all_) {
    keep_followed(change);
  }
}

std::vector<Change> RecentChanges::followed() const {
  const std::lock_guard lock(mutex_);
  return {own_.rbegin(), own_.rend()};
}

}  // namespace gcoord::cli::top
