// Which nodes can do what the watches of a client need: nodes of an earlier release do less.
#include "client/core/watch_feed.h"

#include <algorithm>

namespace gcoord::client {

WatchFeed::NodeFeatures WatchFeed::NodeFeatures::of(std::uint64_t features) {
  const auto has = [features](protocol::Feature feature) {
    return (features & static_cast<std::uint64_t>(feature)) != 0;
  };
  return {.follows = has(protocol::Feature::WatchFollow),
          .filters = has(protocol::Feature::WatchKinds),
          .tells_previous = has(protocol::Feature::WatchPrevious)};
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
  return (!node_.follows && is_away()) ||
         (!node_.tells_previous && std::ranges::any_of(entries_, [](const auto& each) {
           return each.second.state->options().previous;
         }));
}

bool WatchFeed::seeks_another() {
  if (!lacks()) {
    nodes_.forget_lacking();
    return false;
  }
  return nodes_.seeks_another();
}

}  // namespace gcoord::client
