// The right edge of a growing tree: just enough of it to append leaves and to say the root.
//
// A tree of n leaves is a row of perfect trees, one per bit of n that is set, the largest first;
// appending a leaf joins equal neighbours as adding 1 to n carries (RFC 6962 section 2.1). So the
// root of a tree that somebody proposes is known before anything is stored. One thread.
#pragma once

#include "common/status.h"
#include "ledger/merkle_hash.h"
#include "ledger/tree_reader.h"

#include <cstdint>
#include <vector>

namespace gcoord::ledger {

class TreeFrontier {
 public:
  // Of a tree without leaves.
  TreeFrontier() = default;

  // Of the first `size` leaves of a log; size is at most the reader's. Failures: the reader's.
  static Result<TreeFrontier> at(const TreeReader& reader, std::uint64_t size);

  // A leaf's hash (hash_leaf).
  void append(const MerkleHash& leaf);

  std::uint64_t size() const { return size_; }

  MerkleHash root() const;

 private:
  std::uint64_t size_ = 0;
  std::vector<MerkleHash> peaks_;  // Largest tree first.
};

}  // namespace gcoord::ledger
