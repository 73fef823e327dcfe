// A tree's frontier (merkle_frontier.h) as leaves come, leaf by leaf.
//
// Appending joins equal neighbours as adding 1 to the size carries (RFC 6962 section 2.1). So the
// root of a tree that somebody proposes is known before anything is stored; for batches there is
// merkle_trees.h. Plain functions; thread-safe.
#pragma once

#include "common/status.h"
#include "ledger/merkle/frontier.h"
#include "ledger/merkle/tree_reader.h"

#include <cstdint>

namespace gcoord::ledger {

// A leaf more; `leaf` is its hash_leaf. The frontier is sane.
void append_leaf(MerkleFrontier& frontier, const MerkleHash& leaf);

// Of the first `size` leaves of a log; size is at most the reader's. Failures: the reader's.
Result<MerkleFrontier> frontier_at(const TreeReader& reader, std::uint64_t size);

}  // namespace gcoord::ledger
