// The WatchOpen that a node gets for some of the shards of a watch, by what that node can do.
//
// Pure; any thread.
#pragma once

#include "client/watches/watch_state.h"
#include "gcoord/options.h"
#include "protocol/request.h"
#include "protocol/watch_messages.h"

#include <cstdint>

namespace gcoord::client {

// Features of a node for watches; one of an earlier release has fewer.
struct WatchFeatures {
  bool follows = false;         // Its watches of names follow moved locks.
  bool filters = false;         // It leaves out what is not of the wanted kinds.
  bool tells_previous = false;  // It says what was held before an event.
  bool identifies = false;      // It takes logins.

  static WatchFeatures of(std::uint64_t features);
};

struct WatchShards {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  bool has(std::uint32_t shard) const { return shard >= first && shard - first < count; }
};

// The request without its id, and its payload.
struct WatchOpening {
  protocol::RequestSlot slot;
  protocol::WatchQuery query;
};

protocol::WatchTarget target_of(const WatchOptions& options);

// Goes on where the state's queue ends.
WatchOpening make_opening(const WatchState& state,
                          const WatchShards& shards,
                          const WatchFeatures& node);

}  // namespace gcoord::client
