// Frontier of a Merkle tree, all that an append needs: the size and the roots of the perfect
// subtrees, the peaks.
//
// A tree of n leaves is one perfect subtree for each bit that is set in n (RFC 6962 section 2.1).
// So a few hashes stand for all that was ever appended: whoever gets a shard's state without its
// past goes on from them, and its tree has the same roots as everybody's. Plain functions; host
// only; thread-safe.
#pragma once

#include "common/sha256_block.h"
#include "ledger/merkle/hash.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::ledger {

struct MerkleFrontier {
  std::uint64_t size = 0;         // Leaves.
  std::vector<MerkleHash> peaks;  // One per bit of size, the largest subtree first.

  bool sane() const { return peaks.size() == static_cast<std::size_t>(std::popcount(size)); }

  friend bool operator==(const MerkleFrontier& a, const MerkleFrontier& b) = default;
};

inline MerkleHash hash_of_words(const Sha256Words& words) {
  MerkleHash hash;
  for (std::size_t i = 0; i < hash.size(); ++i) {
    hash[i] = static_cast<std::byte>(words.word[i / 4] >> (24 - 8 * (i % 4)));
  }
  return hash;
}

inline Sha256Words words_of_hash(const MerkleHash& hash) {
  Sha256Words words{};
  for (std::size_t i = 0; i < hash.size(); ++i) {
    words.word[i / 4] |= static_cast<std::uint32_t>(hash[i]) << (24 - 8 * (i % 4));
  }
  return words;
}

// The root of the tree. The frontier is sane.
inline MerkleHash root_of(const MerkleFrontier& frontier) {
  if (frontier.peaks.empty()) {
    return empty_root();
  }
  MerkleHash root = frontier.peaks.back();
  for (std::size_t k = frontier.peaks.size() - 1; k-- > 0;) {
    root = hash_node(frontier.peaks[k], root);
  }
  return root;
}

}  // namespace gcoord::ledger
