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
#include "ledger/tree_reader.h"
#include "server/published_heads.h"

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

  // Looks at some more leaves, and marks what is stale in `heads`. A newer head counts once it is
  // below `published`. Failures are the log's.
  Status advance(const ledger::TreeReader& log, PublishedHeads& heads, std::uint64_t published);

  // Each leaf below it has a newer head of its shard that is published.
  std::uint64_t floor() const { return stale_.empty() ? next_ : stale_.begin()->first; }

 private:
  std::uint64_t window_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, ShardId> stale_;  // By leaf.
};

}  // namespace gcoord::server
