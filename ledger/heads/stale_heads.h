// Heads that lie far behind the end of the cluster log and are still the newest of their shards.
//
// The log can be pruned only below them, and a shard in which nothing happens would hold it up for
// ever. So a publisher publishes such heads again (PublishedHeads::refresh), once they are `window`
// leaves behind the end. The log is walked once, leaf by leaf, as it grows. With a window of a few
// times the shards, what is published again is a fraction of what is published, and heads that were
// published again do not become stale by it: a log in which nothing else happens comes to rest.
// One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/heads/published_heads.h"
#include "ledger/merkle/tree_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

namespace gcoord::server {

class StaleHeads {
 public:
  // Of a cluster with that many shards.
  static constexpr std::uint64_t window_for(std::uint32_t shard_count) {
    return std::max<std::uint64_t>(std::uint64_t{1} << 16, std::uint64_t{4} * shard_count);
  }

  explicit StaleHeads(std::uint64_t window) : window_(window) {}

  // Looks at some more leaves, and marks what is stale in `heads`. Newer heads count once they are
  // below `published`. Failures are the log's.
  Status advance(const ledger::TreeReader& log, PublishedHeads& heads, std::uint64_t published);

  // Each leaf below it has a newer head of its shard that is published.
  std::uint64_t floor() const { return floor_; }

 private:
  Status look(const ledger::TreeReader& log, PublishedHeads& heads);

  // Each leaf below it has a newer head of its shard, published or not.
  std::uint64_t replaced() const { return stale_.empty() ? next_ : stale_.begin()->first; }

  std::uint64_t window_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, ShardId> stale_;  // By leaf.
  // What replaced the leaves below awaited_floor_ is below awaited_size_: once that is published,
  // they may go. A size that stays until it is reached: of a shard that changes in every round the
  // newest head is never published where each round is heard of behind the next one.
  std::uint64_t awaited_floor_ = 0;
  std::uint64_t awaited_size_ = 0;
  std::uint64_t floor_ = 0;
};

}  // namespace gcoord::server
