// Which nodes can do what the watches of a client need: nodes of an earlier release do less.
#include "client/core/watch_feed.h"

#include <algorithm>

namespace gcoord::client {

void WatchFeed::note_features(std::uint64_t features) {
  const auto has = [features](protocol::Feature feature) {
    return (features & static_cast<std::uint64_t>(feature)) != 0;
  };
  follows_ = has(protocol::Feature::WatchFollow);
  filters_ = has(protocol::Feature::WatchKinds);
  tells_previous_ = has(protocol::Feature::WatchPrevious);
}

// Whether a watch has followed a name out of its home, and goes on from there.
bool WatchFeed::is_away() const {
  return std::ranges::any_of(entries_, [](const auto& each) {
    const Entry& entry = each.second;
    const auto& places = entry.state->queued_to();
    return entry.state->of_name() && !entry.streams.empty() && !places.empty() &&
           !places.contains(entry.streams.front().shard_first);
  });
}

// Whether the node cannot do what a watch needs.
bool WatchFeed::lacks() const {
  return (!follows_ && is_away()) ||
         (!tells_previous_ && std::ranges::any_of(entries_, [](const auto& each) {
           return each.second.state->options().previous;
         }));
}

// Whether to look for a node that can: until all were asked, each once, however often one of them
// says welcome; or, where some do not answer, for a few rounds.
bool WatchFeed::seeks_another() {
  constexpr std::size_t kRounds = 3;
  if (!lacks()) {
    lacking_.clear();
    return false;
  }
  if (lacking_.insert(addresses_[at_]).second) {
    ended_since_ = 0;
  }
  return lacking_.size() < addresses_.size() && ended_since_ < kRounds * addresses_.size();
}

}  // namespace gcoord::client
