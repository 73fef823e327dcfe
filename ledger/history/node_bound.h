// The bound of all shards of a node together: the largest give first, oldest entries first.
//
// A bound of the node becomes one of each shard: the same number of bytes for all, so high that
// what is left of all shards is just within the node's bound. Shards that are smaller keep
// everything. What a published head needs stays: nothing from the newest published size of a shard
// on is let go of, for no proof leads from that head to a later one without it, and neither is
// anything before the first publication. Pure but for `published`.
#pragma once

#include "common/ids.h"

#include <cstdint>
#include <functional>

namespace gcoord::ledger {

struct NodeBound {
  std::uint64_t bytes_max = 0;  // Of the entries of all shards; 0: no bound.
  // How many entries of the shard are published; any thread. Empty: nothing is published.
  std::function<std::uint64_t(ShardId)> published;
};

// What the shards of a node have.
struct NodeBytes {
  std::uint64_t total = 0;  // Of all shards together.
  std::uint32_t shard_count = 0;
  std::function<std::uint64_t(ShardId)> of;
};

// How many bytes each shard may have so that all have at most bytes_max together; 0: no bound is
// needed. Looks at single shards only where all together have too much.
std::uint64_t share_of_each(const NodeBytes& bytes, std::uint64_t bytes_max);

}  // namespace gcoord::ledger
