// Merkle trees as RFC 6962 section 2.1 defines them, word for word and slowly: what everything that
// is quicker is held against.
#pragma once

#include "ledger/merkle/hash.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::ledger {

using Hashes = std::vector<MerkleHash>;

// The largest power of two below n; n > 1.
inline std::uint64_t left_size(std::uint64_t n) {
  return std::bit_floor(n - 1);
}

// RFC 6962, section 2.1, word for word: MTH, PATH and SUBPROOF over leaves [begin, end).
inline MerkleHash root_of(const Hashes& leaves, std::size_t begin, std::size_t end) {
  if (begin == end) {
    return empty_root();
  }
  if (end - begin == 1) {
    return leaves[begin];
  }
  const std::size_t split = begin + left_size(end - begin);
  return hash_node(root_of(leaves, begin, split), root_of(leaves, split, end));
}

inline Hashes path(const Hashes& leaves, std::size_t leaf, std::size_t begin, std::size_t end) {
  if (end - begin == 1) {
    return {};
  }
  const std::size_t split = begin + left_size(end - begin);
  const bool left = leaf < split;
  Hashes proof = left ? path(leaves, leaf, begin, split) : path(leaves, leaf, split, end);
  proof.push_back(left ? root_of(leaves, split, end) : root_of(leaves, begin, split));
  return proof;
}

inline Hashes subproof(const Hashes& leaves,
                       std::size_t old_end,
                       std::size_t begin,
                       std::size_t end) {
  if (old_end == end) {
    return begin == 0 ? Hashes{} : Hashes{root_of(leaves, begin, end)};
  }
  const std::size_t split = begin + left_size(end - begin);
  const bool left = old_end <= split;
  Hashes proof =
      left ? subproof(leaves, old_end, begin, split) : subproof(leaves, old_end, split, end);
  proof.push_back(left ? root_of(leaves, split, end) : root_of(leaves, begin, split));
  return proof;
}

}  // namespace gcoord::ledger
