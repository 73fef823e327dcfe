// Read interface of a Merkle log for proofs, tiles and exports: one append-only tree of entries.
//
// A tree of n leaves (RFC 6962 section 2.1) is seen here as what tlog-tiles need of it: the hashes
// of its perfect subtrees, level by level, and its entries. Subtree i of level l covers the leaves
// [i * 2^l, (i + 1) * 2^l); level 0 is the leaves' hashes. Everything else follows: roots of any
// size, proofs, tiles, bundles (tree_proof.h, tlog_tiles.h).
//
// A tree may have been pruned: its entries below first() are gone; hashes needed to prove what
// remains are kept. size() only grows, and what was answered once never changes, so readers need no
// lock between calls. Errors: OutOfRange (kLedgerPruned) for what lies below the horizon,
// InvalidArgument for what no tree of this size has, DataLoss for what does not hash to what is
// above it. Implementations are thread-safe.
#pragma once

#include "common/status.h"
#include "ledger/merkle/hash.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::ledger {

class TreeReader {
 public:
  virtual ~TreeReader() = default;

  // Leaves of the tree now; every one below is durable on this node and decided.
  virtual std::uint64_t size() const = 0;

  // The first entry that can still be read.
  virtual std::uint64_t first() const = 0;

  // The hashes of `count` perfect subtrees of a level, from `index` on; all of them end at or below
  // size(). count is at most 256.
  virtual Result<std::vector<MerkleHash>> hashes(std::uint32_t level,
                                                 std::uint64_t index,
                                                 std::size_t count) const = 0;

  // `count` entries from `index` on, as they were hashed. count is at most 256.
  virtual Result<std::vector<std::vector<std::byte>>> entries(std::uint64_t index,
                                                              std::size_t count) const = 0;
};

}  // namespace gcoord::ledger
