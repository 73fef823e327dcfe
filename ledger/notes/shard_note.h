// Checkpoints of shards: what a node signs for one shard's log, and how they lead to the cluster
// log.
//
// The text is a checkpoint of the shard's log (checkpoint_note.h) with one line more:
//
//   cluster LEAF_INDEX CLUSTER_SIZE
//
// Leaf LEAF_INDEX of the cluster log is this very head (shard_head.h), and a cluster log of
// CLUSTER_SIZE leaves, which has it, is or was under a checkpoint that a majority signed. Both are
// decimal. Whoever trusts no single node takes the head's inclusion in the cluster log instead of
// this note's signature. Pure; thread-safe.
#pragma once

#include "common/status.h"
#include "ledger/notes/checkpoint_note.h"
#include "ledger/notes/shard_head.h"

#include <cstdint>

namespace gcoord::ledger {

// Where a head is in the cluster log.
struct ClusterPosition {
  std::uint64_t leaf_index = 0;
  std::uint64_t size = 0;  // Of a cluster log that has it: above leaf_index.

  friend bool operator==(const ClusterPosition&, const ClusterPosition&) = default;
};

// What a node signs. place.leaf_index < place.size.
CheckpointNote shard_checkpoint(std::uint64_t cluster_id,
                                const ShardHead& head,
                                const ClusterPosition& place);

// The place in a checkpoint's extension lines; kHeadMalformed if there is none, two or a wrong one.
Result<ClusterPosition> cluster_place(const CheckpointNote& checkpoint);

}  // namespace gcoord::ledger
