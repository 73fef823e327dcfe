// The hashes of RFC 6962 section 2.1: what a leaf and what a node of a Merkle tree is.
//
// Leaves and nodes are told apart by their first byte, so that no node can be passed off as a leaf.
// SHA-256 by OpenSSL, which takes the processor's own instructions where there are any.
// Thread-safe; host only.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace gcoord::ledger {

inline constexpr std::size_t kMerkleHashBytes = 32;

using MerkleHash = std::array<std::byte, kMerkleHashBytes>;

// SHA-256(0x00 || entry): the leaf of an entry.
MerkleHash hash_leaf(std::span<const std::byte> entry);

// SHA-256(0x01 || left || right).
MerkleHash hash_node(const MerkleHash& left, const MerkleHash& right);

// SHA-256 of nothing: the root of a tree without leaves.
MerkleHash empty_root();

}  // namespace gcoord::ledger
