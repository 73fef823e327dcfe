#include "client/watches/opening.h"

#include "protocol/hello.h"

#include <algorithm>

namespace gcoord::client {
namespace {

// A node sends these only on request, whether it knows of kinds or not.
constexpr std::uint8_t kWaiters = protocol::watch_kind_bit(protocol::WatchEventKind::Waiting) |
                                  protocol::watch_kind_bit(protocol::WatchEventKind::Left);

}  // namespace

WatchFeatures WatchFeatures::of(std::uint64_t features) {
  const auto has = [features](protocol::Feature feature) {
    return (features & static_cast<std::uint64_t>(feature)) != 0;
  };
  return {.follows = has(protocol::Feature::WatchFollow),
          .filters = has(protocol::Feature::WatchKinds),
          .tells_previous = has(protocol::Feature::WatchPrevious),
          .identifies = has(protocol::Feature::Identities)};
}

protocol::WatchTarget target_of(const WatchOptions& options) {
  if (options.prefix) {
    return protocol::WatchTarget::Prefix;
  }
  return options.session_id != 0 ? protocol::WatchTarget::Session : protocol::WatchTarget::Name;
}

WatchOpening make_opening(const WatchState& state,
                          const WatchShards& shards,
                          const WatchFeatures& node) {
  const WatchOptions& options = state.options();
  WatchOpening opening;
  protocol::WatchQuery& query = opening.query;
  query.target = target_of(options);
  query.text = options.prefix.value_or(options.name);
  query.session = SessionId{options.session_id};
  query.progress_ms = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(options.progress_interval.count(), 0, 3'600'000));
  if (query.target != protocol::WatchTarget::Name) {
    query.shard_first = ShardId{shards.first};
    query.shard_count = shards.count;
  }
  query.kinds = node.filters ? state.kinds() : std::uint8_t{0};
  const bool follows = node.follows && query.target == protocol::WatchTarget::Name;
  for (const auto& [shard, revision] : state.queued_to()) {
    if (shards.has(shard) || follows) {
      query.from.push_back({ShardId{shard}, LogIndex{revision + 1}});
    }
  }
  protocol::RequestSlot& slot = opening.slot;
  slot.kind = protocol::RequestKind::WatchOpen;
  if (options.waiters || (state.kinds() & kWaiters) != 0) {
    slot.set(protocol::RequestFlag::WatchQueue);
  }
  if (follows) {
    slot.set(protocol::RequestFlag::WatchFollow);
  }
  if (node.tells_previous && options.previous) {
    slot.set(protocol::RequestFlag::WatchPrevious);
  }
  return opening;
}

}  // namespace gcoord::client
