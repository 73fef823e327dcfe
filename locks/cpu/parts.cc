#include "locks/cpu/parts.h"

#include "common/assert.h"

#include <algorithm>

namespace gcoord::locks {

LockParts::LockParts(const LockOptions& options)
    : part_shards_(options.part_shards == 0 ? options.shard_count
                                            : std::min(options.part_shards, options.shard_count)) {
  GCOORD_ASSERT(options.shard_count > 0);
  const std::uint32_t count = (options.shard_count + part_shards_ - 1) / part_shards_;
  if (count > 1) {
    over_ = std::make_shared<sessions::OverSessions>(
        sessions::OverSessionsOptions{.remembered_max = options.clock.expired_remembered_max,
                                      .index_seed = options.clock.index_seed,
                                      .sharing = sessions::OverSharing::Shared});
  }
  for (std::uint32_t number = 0; number < count; ++number) {
    parts_.push_back(std::make_unique<Part>(options, over_));
  }
}

void LockParts::note_counts(const Hold& hold) const {
  Part& part = *parts_[hold.number()];
  const LockCounts counts = hold->counts();
  part.locks.store(counts.locks, std::memory_order_relaxed);
  part.waiters.store(counts.waiters, std::memory_order_relaxed);
  part.sessions.store(counts.sessions, std::memory_order_relaxed);
  part.requests.store(counts.requests, std::memory_order_relaxed);
}

void LockParts::note_applied(const Hold& hold, ShardId shard, LogIndex index) const {
  if (count() != 1) {
    parts_[hold.number()]->applied[shard.value] = index.value;
  }
}

LogIndex LockParts::applied(const Hold& hold, ShardId shard) const {
  return LogIndex{count() == 1 ? 0 : parts_[hold.number()]->applied[shard.value]};
}

LockCounts LockParts::counts() const {
  LockCounts all;
  for (const auto& part : parts_) {
    all.locks += part->locks.load(std::memory_order_relaxed);
    all.waiters += part->waiters.load(std::memory_order_relaxed);
    all.sessions += part->sessions.load(std::memory_order_relaxed);
    all.requests += part->requests.load(std::memory_order_relaxed);
  }
  return all;
}

}  // namespace gcoord::locks
