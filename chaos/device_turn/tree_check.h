// Judges the Merkle trees of a turn cluster that has come to rest.
//
// Every replica's tree of every shard must reach as far as its log was decided, and the three must
// have equal sizes and roots. Of a sample of shards the entries are made again on the host, from
// the seed of the node that led them, held against the digest of what the service applied, and
// hashed by the CPU's trees (OpenSSL): their roots must be the devices'. A shard that was led by
// several nodes cannot be made again that way, and is counted. Host only; blocking.
#pragma once

#include "chaos/device_turn/turn_cluster.h"
#include "common/status.h"

#include <cstdint>

namespace gcoord::chaos {

struct TreeCheckOptions {
  std::uint32_t shards_max = ~0u;                // Hashed again at most,
  std::uint64_t leaves_max = ~std::uint64_t{0};  // with so many leaves together.
  std::uint32_t threads = 1;
};

struct TreeVerdict {
  std::uint64_t shards = 0;           // Whose three trees are equal and complete.
  std::uint64_t leaves = 0;           // Of one replica's trees, all shards together.
  std::uint64_t without_tree = 0;     // Brought up by a snapshot somewhere.
  std::uint64_t hashed_again = 0;     // Shards whose roots are those of the CPU's trees,
  std::uint64_t leaves_again = 0;     // and their leaves.
  std::uint64_t several_leaders = 0;  // Of the sample, not made again.
};

// Nothing runs, roots are folded, all replicas have applied as much. Internal: what is wrong, with
// its shard.
Result<TreeVerdict> check_trees(TurnCluster& cluster, const TreeCheckOptions& options);

}  // namespace gcoord::chaos
