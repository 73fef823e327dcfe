// The hashes of leaves and of nodes on a host, two at a time (common/sha256_pair.h).
//
// The same hashes as hash_leaf_words and hash_node_words give (ledger/merkle/words.h). Pure;
// thread-safe; host only.
#pragma once

#include "ledger/merkle/words.h"

#include <cstddef>
#include <span>

namespace gcoord::ledger {

// SHA-256(0x00 || record) of every record in the payload. `hashes` has a place for each.
void hash_leaf_pairs(const std::byte* payload,
                     std::span<const LeafExtent> leaves,
                     std::span<Sha256Words> hashes);

// SHA-256(0x01 || children[0] || children[1]) of two nodes, whose children are neighbours.
struct NodePair {
  const Sha256Words* children[2] = {};  // By node: the first of the two.
};

void hash_node_pair(const NodePair& nodes, Sha256Words (&hashes)[2]);

}  // namespace gcoord::ledger
