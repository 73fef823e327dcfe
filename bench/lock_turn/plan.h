// Sizes of the lock tables of a device's turn for a benchmark's load. Pure; any thread.
#pragma once

#include "server/device_turn/view.h"
#include "server/resident/node/lock_turn_memory.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace gcoord::bench {

struct LockTurnLoad {
  std::uint32_t shards = 1;
  std::uint32_t names = 1;  // In all shards together; all of them may be held at a time.
  std::uint32_t sessions_per_shard = 1;
};

struct LockTurnPlan {
  server::TurnShape shape;
  server::LockTurnSizes sizes;
};

// Stripes of a node on a GPU of compute capability 9.0 whose blocks have eight of them.
inline constexpr std::uint32_t kLockTurnStripes = 1024;

// Names fall on stripes by their hashes, so that none gets an eighth more than its share, if its
// share is large. What one member may take at most for a command is claimed and given back.
inline LockTurnPlan lock_turn_plan(const LockTurnLoad& load) {
  constexpr std::uint32_t kClaimed = 2048;
  const std::uint32_t stripes = std::min(kLockTurnStripes, std::bit_floor(load.shards));
  LockTurnPlan plan;
  plan.shape = {.shard_count = load.shards, .stripe_count = stripes};
  const std::uint32_t names = load.names / stripes;
  const std::uint32_t sessions = server::stripe_rows(plan.shape) * load.sessions_per_shard;
  plan.sizes.locks = std::bit_ceil(names + names / 8 + kClaimed);
  plan.sizes.name_blocks = std::bit_ceil(names + names / 8 + 8 * kClaimed);
  plan.sizes.sessions = std::bit_ceil(sessions + kClaimed);
  plan.sizes.requests = std::bit_ceil(2 * sessions + kClaimed);
  return plan;
}

inline std::size_t lock_turn_bytes_of(const LockTurnPlan& plan) {
  return server::lock_turn_bytes(plan.shape, plan.sizes) + ColumnArena::bytes_for<std::uint64_t>(1);
}

}  // namespace gcoord::bench
