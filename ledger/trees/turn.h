// One turn's appends to the Merkle trees of many shards, as a bulk operation.
//
// What: a run is the new leaves of one shard. All leaves of a block of runs are hashed, then all
// nodes of level 1 that these complete, then those of level 2, and so on while there are any. So
// the threads of a block share the work evenly, whatever the shapes of the trees, and only the last
// few levels, which hardly any tree reaches, leave some of them idle.
// Where nodes lie: a run of n leaves has n + 1 places at every level. Place 0 is for the node
// before the first new one where that is its left sibling (the old peak); so two siblings are
// neighbours. Levels from 1 on take turns in two arrays; leaves have their own, which stays.
// Contract: a shard has one run at most in a turn, of at least one leaf. Blocks are independent.
// Equal inputs give equal tables on host and device; the order of `kept` is not given. POD views;
// host and device.
#pragma once

#include "common/assert.h"
#include "common/device/block_device.h"
#include "common/device/device_atomic.h"
#include "common/hd.h"
#include "ledger/trees/table.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::ledger {

// Nodes of every kKeptLevels-th level are kept beside the leaves: tiles begin with them (C2SP
// tlog-tiles: height 8), and whatever lies between follows from them.
inline constexpr std::uint32_t kKeptLevels = 8;

// Runs that one block of threads works on: few, so that many blocks hide what one waits for.
inline constexpr std::uint32_t kMerkleBlockRuns = 128;

struct KeptNode {
  std::uint32_t shard;
  std::uint32_t level;
  std::uint64_t index;  // At its level, from 0.
  Sha256Words hash;
};

struct MerkleTurn {
  MerkleTable table;
  std::uint32_t run_count = 0;
  const std::uint32_t* run_shard = nullptr;  // [run_count]
  const std::uint32_t* run_first = nullptr;  // [run_count + 1]: its first leaf; then the sum.
  const LeafExtent* leaves = nullptr;        // By run, in log order.
  const std::byte* payload = nullptr;
  Sha256Words* leaf_hashes = nullptr;  // [leaves + runs]; see leaf_place.
  Sha256Words* nodes[2] = {};          // The same size; level l in nodes[l % 2], for l > 0.
  KeptNode* kept = nullptr;            // [kept_max(leaves, runs)]
  std::uint32_t* kept_count = nullptr;
};

// Nodes that a turn may keep.
GCOORD_HD inline std::uint64_t kept_max(std::uint64_t leaf_count, std::uint64_t run_count) {
  return leaf_count / ((1u << kKeptLevels) - 1) + kMerkleLevelsMax / kKeptLevels * run_count;
}

// One run as its block sees it.
struct MerkleSpan {
  std::uint64_t size;   // Of the tree before the turn.
  std::uint32_t count;  // Leaves that are added.
  std::uint32_t shard;
  std::uint32_t leaf;   // Of MerkleTurn::leaves: the first.
  std::uint32_t place;  // Of every level: the first.

  // Size of the tree after the turn.
  GCOORD_HD std::uint64_t end() const { return size + count; }
};

// What the threads of a block share.
struct MerkleBlock {
  MerkleSpan span[kMerkleBlockRuns];
  std::uint32_t first[kMerkleBlockRuns + 1];  // By run: its first item of the level; then the sum.
  BlockSums sums;
};

// New nodes of a level.
GCOORD_HD inline std::uint32_t node_count(const MerkleSpan& span, std::uint32_t level) {
  return static_cast<std::uint32_t>((span.end() >> level) - (span.size >> level));
}

// Where node `index` of a level lies in the level's array.
GCOORD_HD inline std::size_t node_place(const MerkleSpan& span,
                                        std::uint32_t level,
                                        std::uint64_t index) {
  return span.place + static_cast<std::size_t>(index - (span.size >> level & ~std::uint64_t{1}));
}

// Where the hash of a run's first new leaf lies after the turn, the others behind it. `first_leaf`
// is the run's, `size` the tree's before the turn.
GCOORD_HD inline std::size_t leaf_place(std::uint32_t first_leaf,
                                        std::uint32_t run,
                                        std::uint64_t size) {
  return std::size_t{first_leaf} + run + (size & 1);
}

GCOORD_HD inline Sha256Words* level_hashes(const MerkleTurn& turn, std::uint32_t level) {
  return level == 0 ? turn.leaf_hashes : turn.nodes[level % 2];
}

// The last new node of a level looks after the peak: the old one is needed beside the new nodes if
// it is the left sibling of their first, and the last new one is the peak if it has no sibling yet.
GCOORD_HD inline void change_peak(const MerkleTurn& turn,
                                  const MerkleSpan& span,
                                  std::uint32_t level,
                                  const Sha256Words& last) {
  Sha256Words& peak = turn.table.peak_of(level, span.shard);
  if ((span.size >> level & 1) != 0) {
    level_hashes(turn, level)[span.place] = peak;
  }
  if ((span.end() >> level & 1) != 0) {
    peak = last;
  }
}

GCOORD_HD inline void keep_node(const MerkleTurn& turn,
                                const MerkleSpan& span,
                                std::uint32_t level,
                                std::uint64_t index,
                                const Sha256Words& hash) {
  turn.kept[relaxed_add(*turn.kept_count, 1)] = {span.shard, level, index, hash};
}

// The run of an item: the last that begins at or before it.
GCOORD_HD inline std::uint32_t run_of(const MerkleBlock& block,
                                      std::uint32_t run_count,
                                      std::uint32_t item) {
  std::uint32_t low = 0;
  std::uint32_t high = run_count;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    const bool below = block.first[middle] <= item;
    low = below ? middle : low;
    high = below ? high : middle;
  }
  return low;
}

// Counts the level's new nodes by run; the sum of all, to all threads.
GCOORD_HD inline std::uint32_t count_level(MerkleBlock& block,
                                           std::uint32_t run_count,
                                           std::uint32_t level) {
  const std::uint32_t each = (run_count + block_threads() - 1) / block_threads();
  const std::uint32_t begin = block_rank() * each;
  const std::uint32_t end = begin + each < run_count ? begin + each : run_count;
  std::uint32_t sum = 0;
  for (std::uint32_t run = begin; run < end; ++run) {
    sum += node_count(block.span[run], level);
  }
  std::uint32_t total = 0;
  std::uint32_t first = block_sum_below(sum, block.sums, total);
  for (std::uint32_t run = begin; run < end; ++run) {
    block.first[run] = first;
    first += node_count(block.span[run], level);
  }
  block_meet();
  return total;
}

// Leaves that are records in the turn's payload.
struct PayloadLeaves {
  const MerkleTurn& turn;

  GCOORD_HD Sha256Words hash(const MerkleSpan& span, std::uint32_t k) const {
    return hash_leaf_words(turn.payload, turn.leaves[span.leaf + k]);
  }
};

template <typename Leaves>
GCOORD_HD void hash_leaves(const MerkleTurn& turn,
                           const MerkleBlock& block,
                           std::uint32_t run_count,
                           std::uint32_t total,
                           const Leaves& leaves) {
  for (std::uint32_t item = block_rank(); item < total; item += block_threads()) {
    const std::uint32_t run = run_of(block, run_count, item);
    const MerkleSpan& span = block.span[run];
    const std::uint32_t k = item - block.first[run];
    const Sha256Words hash = leaves.hash(span, k);
    const std::uint64_t index = span.size + k;
    turn.leaf_hashes[node_place(span, 0, index)] = hash;
    if (index + 1 == span.end()) {
      change_peak(turn, span, 0, hash);
    }
  }
}

GCOORD_HD inline void hash_level(const MerkleTurn& turn,
                                 const MerkleBlock& block,
                                 std::uint32_t run_count,
                                 std::uint32_t level,
                                 std::uint32_t total) {
  const Sha256Words* below = level_hashes(turn, level - 1);
  Sha256Words* hashes = level_hashes(turn, level);
  for (std::uint32_t item = block_rank(); item < total; item += block_threads()) {
    const std::uint32_t run = run_of(block, run_count, item);
    const MerkleSpan& span = block.span[run];
    const std::uint64_t index = (span.size >> level) + item - block.first[run];
    const std::size_t left = node_place(span, level - 1, 2 * index);
    const Sha256Words hash = hash_node_words(below[left], below[left + 1]);
    hashes[node_place(span, level, index)] = hash;
    if (index + 1 == span.end() >> level) {
      change_peak(turn, span, level, hash);
    }
    if (level % kKeptLevels == 0) {
      keep_node(turn, span, level, index, hash);
    }
  }
}

GCOORD_HD inline void take_span(const MerkleTurn& turn, std::uint32_t run, MerkleSpan& span) {
  const std::uint32_t shard = turn.run_shard[run];
  const std::uint32_t leaf = turn.run_first[run];
  GCOORD_ASSERT(shard < turn.table.shard_count);
  const std::uint64_t size = turn.table.size[shard];
  GCOORD_ASSERT(turn.run_first[run + 1] > leaf);
  span = {size, turn.run_first[run + 1] - leaf, shard, leaf, leaf + run};
  GCOORD_ASSERT(span.end() >> turn.table.levels == 0);
}

// Hashes what the block's spans add to their trees, `total` leaves of which `leaves` knows the
// hashes, and changes their peaks but not their sizes. The new nodes above them. Called by all
// threads of a block after a count_level of level 0.
template <typename Leaves>
GCOORD_HD std::uint32_t append_spans(const MerkleTurn& turn,
                                     MerkleBlock& block,
                                     std::uint32_t run_count,
                                     std::uint32_t total,
                                     const Leaves& leaves) {
  std::uint32_t nodes = 0;
  hash_leaves(turn, block, run_count, total, leaves);
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t level = 1; level < turn.table.levels; ++level) {
    block_meet();
    total = count_level(block, run_count, level);
    if (total == 0) {
      break;
    }
    nodes += total;
    hash_level(turn, block, run_count, level, total);
  }
  return nodes;
}

// Appends the block's runs, from `first_run` on. Called by all threads of a block.
GCOORD_HD inline void append_runs(const MerkleTurn& turn,
                                  std::uint32_t first_run,
                                  MerkleBlock& block) {
  const std::uint32_t left = turn.run_count - first_run;
  const std::uint32_t run_count = left < kMerkleBlockRuns ? left : kMerkleBlockRuns;
  for (std::uint32_t run = block_rank(); run < run_count; run += block_threads()) {
    take_span(turn, first_run + run, block.span[run]);
  }
  block_meet();
  const std::uint32_t total = count_level(block, run_count, 0);
  static_cast<void>(append_spans(turn, block, run_count, total, PayloadLeaves{turn}));
  for (std::uint32_t run = block_rank(); run < run_count; run += block_threads()) {
    turn.table.size[block.span[run].shard] = block.span[run].end();
  }
}

}  // namespace gcoord::ledger
