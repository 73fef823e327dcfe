// Making Merkle proofs: that an entry is in a tree, and that one tree is the beginning of another.
//
// The proofs are those of RFC 6962, sections 2.1.1 and 2.1.2, made from the perfect subtrees that a
// TreeReader shows; merkle_proof.h checks them. Any tree that the log ever had can be asked for:
// sizes are any number up to the reader's. A proof costs at most about two reads per level.
//
// Errors: InvalidArgument (kLedgerBeyond) for trees and leaves that the log does not have, and what
// the reader answers for hashes that it has no more. Thread-safe.
#pragma once

#include "common/status.h"
#include "ledger/merkle/hash.h"
#include "ledger/merkle/tree_reader.h"

#include <cstdint>
#include <vector>

namespace gcoord::ledger {

// The root of the tree of the first `size` entries; empty_root() if there are none.
Result<MerkleHash> root_at(const TreeReader& reader, std::uint64_t size);

// That leaf `index` is in the tree of the first `size` entries; from the leaf upwards.
Result<std::vector<MerkleHash>> inclusion_proof(const TreeReader& reader,
                                                std::uint64_t index,
                                                std::uint64_t size);

// That the tree of the first `old_size` entries is the beginning of the tree of the first `size`.
// Empty where nothing needs to be shown: old_size is 0 or `size`.
Result<std::vector<MerkleHash>> consistency_proof(const TreeReader& reader,
                                                  std::uint64_t old_size,
                                                  std::uint64_t size);

}  // namespace gcoord::ledger
