#include "ledger/merkle/proof.h"

#include "ledger/base/error_details.h"

#include <bit>
#include <string>

namespace gcoord::ledger {
namespace {

std::string text(std::uint64_t number) {
  return std::to_string(number);
}

Status refuse(std::uint32_t detail, const std::string& evidence) {
  return Status{StatusCode::DataLoss, evidence, detail};
}

Status wrong_length(std::size_t hashes) {
  return refuse(kProofLength, "a proof of " + text(hashes) + " hashes does not fit these sizes");
}

Status check_size(std::span<const MerkleHash> proof) {
  if (proof.size() <= kProofHashesMax) {
    return Status{};
  }
  return refuse(kProofOversized,
                "the proof has " + text(proof.size()) + " hashes; no proof has more than " +
                    text(kProofHashesMax));
}

// A walk from a node to the root: `place` is the node's number on its level, `last` that of the
// level's last node.
struct Climb {
  std::uint64_t place = 0;
  std::uint64_t last = 0;

  // Whether the next hash of a proof stands left of the node. A node without a right neighbour
  // rises unchanged until it has one on its left.
  bool joins_left() {
    if ((place & 1) == 0 && place != last) {
      return false;
    }
    while ((place & 1) == 0 && place != 0) {
      up();
    }
    return true;
  }

  void up() {
    place >>= 1;
    last >>= 1;
  }

  bool at_root() const { return last == 0; }
};

Status check_trivial(const ConsistencyClaim& claim, std::span<const MerkleHash> proof) {
  if (!proof.empty()) {
    return wrong_length(proof.size());
  }
  if (claim.old_size == 0 && claim.old_root != empty_root()) {
    return refuse(kProofOldRoot, "the root of a tree of size 0 is the hash of empty input");
  }
  if (claim.old_size == claim.size && claim.old_root != claim.root) {
    return refuse(kProofSplit, "two trees of size " + text(claim.size) + " have different roots");
  }
  return Status{};
}

}  // namespace

Status verify_inclusion(const InclusionClaim& claim, std::span<const MerkleHash> proof) {
  if (claim.leaf_index >= claim.tree_size) {
    return refuse(
        kProofIndex,
        "a tree of " + text(claim.tree_size) + " leaves has no leaf " + text(claim.leaf_index));
  }
  GCOORD_TRY_STATUS(check_size(proof));
  Climb climb{.place = claim.leaf_index, .last = claim.tree_size - 1};
  MerkleHash root = claim.leaf;
  for (const MerkleHash& hash : proof) {
    if (climb.at_root()) {
      return wrong_length(proof.size());
    }
    root = climb.joins_left() ? hash_node(hash, root) : hash_node(root, hash);
    climb.up();
  }
  if (!climb.at_root()) {
    return wrong_length(proof.size());
  }
  if (root != claim.root) {
    return refuse(kProofRoot, "the leaf and the proof lead to another root");
  }
  return Status{};
}

Status verify_consistency(const ConsistencyClaim& claim, std::span<const MerkleHash> proof) {
  if (claim.old_size > claim.size) {
    return refuse(
        kProofBackwards,
        "the tree shrinks from " + text(claim.old_size) + " to " + text(claim.size) + " leaves");
  }
  GCOORD_TRY_STATUS(check_size(proof));
  if (claim.old_size == 0 || claim.old_size == claim.size) {
    return check_trivial(claim, proof);
  }
  // The walk begins at the largest complete subtree that ends the old tree. It is the proof's first
  // hash, unless it is the whole old tree, whose root is known.
  const bool whole = std::has_single_bit(claim.old_size);
  if (proof.empty()) {
    return wrong_length(proof.size());
  }
  Climb climb{.place = claim.old_size - 1, .last = claim.size - 1};
  while ((climb.place & 1) != 0) {
    climb.up();
  }
  MerkleHash old_root = whole ? claim.old_root : proof.front();
  MerkleHash root = old_root;
  for (const MerkleHash& hash : proof.subspan(whole ? 0 : 1)) {
    if (climb.at_root()) {
      return wrong_length(proof.size());
    }
    if (climb.joins_left()) {
      old_root = hash_node(hash, old_root);
      root = hash_node(hash, root);
    } else {
      root = hash_node(root, hash);
    }
    climb.up();
  }
  if (!climb.at_root()) {
    return wrong_length(proof.size());
  }
  if (old_root != claim.old_root) {
    return refuse(kProofOldRoot, "the proof does not lead to the old root");
  }
  if (root != claim.root) {
    return refuse(kProofRoot, "the proof does not lead to the new root");
  }
  return Status{};
}

}  // namespace gcoord::ledger
