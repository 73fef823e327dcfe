// Filters of watches that are opened, and the shard where one that follows a name begins.
#pragma once

#include "common/name_hash.h"
#include "locks/cpu/lock_cpu.h"
#include "protocol/error_codes.h"
#include "protocol/request.h"
#include "protocol/watch_messages.h"
#include "server/watch/target.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace gcoord::server {

// Where the lock of a moved name is, as the shard knows it.
using WatchResidence = std::function<std::optional<locks::NameResidence>(ShardId, NameHash)>;

// Where a watch that follows its name begins, and the move that it awaits there, if any.
struct FollowPosition {
  ShardId shard;
  std::uint32_t move_number = 0;
  std::uint32_t arrival = 0;
};

class WatchFilters {
 public:
  // `residence` outlives it.
  WatchFilters(std::uint32_t shard_count, const WatchResidence& residence)
      : shard_count_(shard_count), residence_(residence) {}

  // What the client asks for, or why that is none.
  protocol::ErrorCode make(const protocol::RequestSlot& request,
                           const protocol::WatchQuery& query,
                           WatchFilter& filter) const;

  // Where a watch that begins now does. A shard that the lock was sent to and that knows of no such
  // move has yet to get it. One that knows of a newer move has let go of the lock since, which
  // comes home next, whatever it has done after that.
  FollowPosition place_of(NameHash name) const;

 private:
  std::uint32_t shard_count_;
  const WatchResidence& residence_;
};

}  // namespace gcoord::server
