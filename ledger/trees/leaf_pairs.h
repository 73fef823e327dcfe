// The hashes of many leaves on a host, two at a time (common/sha256_pair.h).
//
// The same hashes as hash_leaf_words gives (ledger/merkle/words.h). Pure; thread-safe; host only.
#pragma once

#include "ledger/merkle/words.h"

#include <cstddef>
#include <span>

namespace gcoord::ledger {

// SHA-256(0x00 || record) of every record in the payload. `hashes` has a place for each.
void hash_leaf_pairs(const std::byte* payload,
                     std::span<const LeafExtent> leaves,
                     std::span<Sha256Words> hashes);

}  // namespace gcoord::ledger
