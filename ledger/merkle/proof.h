// Checking Merkle proofs: that an entry is in a tree, and that one tree is the beginning of
// another.
//
// The algorithms are those of RFC 9162, sections 2.1.3.2 and 2.1.4.2, which verify the proofs of
// RFC 6962, sections 2.1.1 and 2.1.2. Sizes and indexes are any 64-bit numbers; nothing overflows,
// and no more than kProofHashesMax hashes are ever computed with. A proof comes from somebody who
// is not trusted: any bytes are safe, and each way to be wrong has its own error. Thread-safe.
//
// Conventions where the RFCs are silent: nothing is in a tree of size 0; a tree of size 0 is the
// beginning of every tree, by an empty proof, and its root is the hash of nothing; a tree is the
// beginning of itself, by an empty proof.
#pragma once

#include "common/status.h"
#include "ledger/merkle/hash.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::ledger {

// No proof of a tree of at most 2^64 - 1 leaves is longer.
inline constexpr std::size_t kProofHashesMax = 65;

struct InclusionClaim {
  std::uint64_t leaf_index = 0;  // From 0.
  std::uint64_t tree_size = 0;   // In leaves.
  MerkleHash leaf{};             // hash_leaf() of the entry.
  MerkleHash root{};
};

struct ConsistencyClaim {
  std::uint64_t old_size = 0;
  std::uint64_t size = 0;
  MerkleHash old_root{};
  MerkleHash root{};
};

// Ok if the proof shows that the leaf is at its index in the tree with that root. Otherwise
// kProofIndex (the tree has no such leaf), kProofOversized, kProofLength (too few or too many
// hashes for these numbers), or kProofRoot (it leads to another root).
Status verify_inclusion(const InclusionClaim& claim, std::span<const MerkleHash> proof);

// Ok if the proof shows that the old tree is the beginning of the new one. Otherwise
// kProofBackwards (the old tree is larger), kProofOversized, kProofLength, kProofOldRoot (the proof
// does not lead to the old root, so it says nothing of it), or kProofRoot. Equal sizes with
// different roots are kProofSplit: two histories under one size.
Status verify_consistency(const ConsistencyClaim& claim, std::span<const MerkleHash> proof);

}  // namespace gcoord::ledger
