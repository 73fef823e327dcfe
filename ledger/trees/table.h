// The Merkle trees of all shards of a node as columns: what is needed to append to them.
//
// A tree of n leaves is, for each bit that is set in n, one perfect subtree (RFC 6962 section 2.1:
// the split at the largest power of two). Their roots, the peaks, and n are all that appending and
// the tree's root need. Level 0 holds leaves. Peak l of a shard is meant only while bit l of its
// size is set. POD views of memory that somebody else owns; host and device.
#pragma once

#include "common/hd.h"
#include "ledger/merkle/words.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::ledger {

// Levels of the largest tree of 64-bit size.
inline constexpr std::uint32_t kMerkleLevelsMax = 64;

struct MerkleTable {
  std::uint32_t shard_count = 0;
  std::uint32_t levels = 0;       // A tree has less than 2^levels leaves.
  std::uint64_t* size = nullptr;  // [shard]: leaves.
  Sha256Words* peak = nullptr;    // [level][shard]

  GCOORD_HD Sha256Words& peak_of(std::uint32_t level, std::uint32_t shard) const {
    return peak[static_cast<std::size_t>(level) * shard_count + shard];
  }
};

// The root of a shard's tree: its peaks, folded from the smallest.
GCOORD_HD inline Sha256Words root_words(const MerkleTable& table, std::uint32_t shard) {
  const std::uint64_t size = table.size[shard];
  if (size == 0) {
    return empty_root_words();
  }
  std::uint32_t level = 0;
  while ((size >> level & 1) == 0) {
    ++level;
  }
  Sha256Words root = table.peak_of(level, shard);
  GCOORD_UNROLL_BY(1)
  for (++level; level < kMerkleLevelsMax && size >> level != 0; ++level) {
    if ((size >> level & 1) != 0) {
      root = hash_node_words(table.peak_of(level, shard), root);
    }
  }
  return root;
}

}  // namespace gcoord::ledger
