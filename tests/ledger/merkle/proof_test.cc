#include "ledger/merkle/proof.h"

#include "ledger/base/error_details.h"
#include "tests/ledger/tree_definition.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace gcoord::ledger {
namespace {

Hashes numbered_leaves(std::size_t count) {
  Hashes leaves;
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = static_cast<std::byte>(i);
    leaves.push_back(hash_leaf({&byte, 1}));
  }
  return leaves;
}

std::string hex(const MerkleHash& hash) {
  std::string text;
  for (const std::byte each : hash) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(each) >> 4];
    text += kDigits[std::to_integer<unsigned>(each) & 15];
  }
  return text;
}

MerkleHash flipped(MerkleHash hash) {
  hash[7] ^= std::byte{4};
  return hash;
}

constexpr std::size_t kLeaves = 40;

TEST(MerkleHash, RootsAreThoseThatOtherLogsPublish) {
  // Leaves and roots with which implementations of Certificate Transparency test themselves.
  const std::vector<std::vector<unsigned char>> entries = {
      {},
      {0x00},
      {0x10},
      {0x20, 0x21},
      {0x30, 0x31},
      {0x40, 0x41, 0x42, 0x43},
      {0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57},
      {0x60,
       0x61,
       0x62,
       0x63,
       0x64,
       0x65,
       0x66,
       0x67,
       0x68,
       0x69,
       0x6a,
       0x6b,
       0x6c,
       0x6d,
       0x6e,
       0x6f}};
  Hashes leaves;
  for (const auto& entry : entries) {
    leaves.push_back(hash_leaf(std::as_bytes(std::span(entry))));
  }
  EXPECT_EQ(hex(root_of(leaves, 0, 0)),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(root_of(leaves, 0, 1)),
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
  EXPECT_EQ(hex(root_of(leaves, 0, 2)),
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125");
  EXPECT_EQ(hex(root_of(leaves, 0, 8)),
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328");
}

TEST(MerkleProof, EveryLeafOfEverySmallTreeIsProved) {
  const Hashes leaves = numbered_leaves(kLeaves);
  for (std::size_t size = 1; size <= kLeaves; ++size) {
    for (std::size_t leaf = 0; leaf < size; ++leaf) {
      const InclusionClaim claim{leaf, size, leaves[leaf], root_of(leaves, 0, size)};
      EXPECT_TRUE(verify_inclusion(claim, path(leaves, leaf, 0, size)).ok()) << leaf << "/" << size;
    }
  }
}

TEST(MerkleProof, EveryBeginningOfEverySmallTreeIsProved) {
  const Hashes leaves = numbered_leaves(kLeaves);
  for (std::size_t size = 1; size <= kLeaves; ++size) {
    for (std::size_t old = 1; old <= size; ++old) {
      const ConsistencyClaim claim{old, size, root_of(leaves, 0, old), root_of(leaves, 0, size)};
      EXPECT_TRUE(verify_consistency(claim, subproof(leaves, old, 0, size)).ok())
          << old << "/" << size;
    }
  }
}

TEST(MerkleProof, AnInclusionProofWithAnythingChangedProvesNothing) {
  const Hashes leaves = numbered_leaves(kLeaves);
  for (std::size_t size = 1; size <= kLeaves; ++size) {
    for (std::size_t leaf = 0; leaf < size; ++leaf) {
      const InclusionClaim claim{leaf, size, leaves[leaf], root_of(leaves, 0, size)};
      const Hashes proof = path(leaves, leaf, 0, size);
      InclusionClaim wrong = claim;
      wrong.leaf = flipped(claim.leaf);
      EXPECT_EQ(verify_inclusion(wrong, proof).detail(), kProofRoot);
      wrong = claim;
      wrong.root = flipped(claim.root);
      EXPECT_EQ(verify_inclusion(wrong, proof).detail(), kProofRoot);
      for (std::size_t k = 0; k < proof.size(); ++k) {
        Hashes changed = proof;
        changed[k] = flipped(proof[k]);
        EXPECT_EQ(verify_inclusion(claim, changed).detail(), kProofRoot);
        changed = proof;
        changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(k));
        EXPECT_EQ(verify_inclusion(claim, changed).detail(), kProofLength);
      }
      Hashes longer = proof;
      longer.push_back(claim.root);
      EXPECT_EQ(verify_inclusion(claim, longer).detail(), kProofLength);
      for (std::size_t other = 0; other < size; ++other) {
        wrong = claim;
        wrong.leaf_index = other;
        EXPECT_EQ(verify_inclusion(wrong, proof).ok(), other == leaf);
      }
    }
  }
}

TEST(MerkleProof, AConsistencyProofWithAnythingChangedProvesNothing) {
  const Hashes leaves = numbered_leaves(kLeaves);
  for (std::size_t size = 2; size <= kLeaves; ++size) {
    for (std::size_t old = 1; old < size; ++old) {
      const ConsistencyClaim claim{old, size, root_of(leaves, 0, old), root_of(leaves, 0, size)};
      const Hashes proof = subproof(leaves, old, 0, size);
      ConsistencyClaim wrong = claim;
      wrong.root = flipped(claim.root);
      EXPECT_EQ(verify_consistency(wrong, proof).detail(), kProofRoot);
      wrong = claim;
      wrong.old_root = flipped(claim.old_root);
      EXPECT_FALSE(verify_consistency(wrong, proof).ok());
      for (std::size_t k = 0; k < proof.size(); ++k) {
        Hashes changed = proof;
        changed[k] = flipped(proof[k]);
        EXPECT_FALSE(verify_consistency(claim, changed).ok());
        changed = proof;
        changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(k));
        EXPECT_EQ(verify_consistency(claim, changed).detail(), kProofLength);
      }
      for (std::size_t other = 1; other < size; ++other) {
        wrong = claim;
        wrong.old_size = other;
        EXPECT_EQ(verify_consistency(wrong, proof).ok(), other == old) << other << " " << old;
      }
    }
  }
}

TEST(MerkleProof, SizesThatSayEnoughAloneNeedNoProof) {
  const MerkleHash a = hash_leaf({});
  const MerkleHash b = flipped(a);
  EXPECT_EQ(verify_inclusion({0, 0, a, empty_root()}, {}).detail(), kProofIndex);
  EXPECT_EQ(verify_inclusion({5, 5, a, a}, {}).detail(), kProofIndex);
  EXPECT_TRUE(verify_inclusion({0, 1, a, a}, {}).ok());
  EXPECT_TRUE(verify_consistency({0, 0, empty_root(), empty_root()}, {}).ok());
  EXPECT_TRUE(verify_consistency({0, 9, empty_root(), a}, {}).ok());
  EXPECT_EQ(verify_consistency({0, 9, a, a}, {}).detail(), kProofOldRoot);
  EXPECT_EQ(verify_consistency({0, 9, empty_root(), a}, Hashes{a}).detail(), kProofLength);
  EXPECT_EQ(verify_consistency({0, 0, empty_root(), a}, {}).detail(), kProofSplit);
  EXPECT_EQ(verify_consistency({7, 7, a, b}, {}).detail(), kProofSplit);
  EXPECT_TRUE(verify_consistency({7, 7, a, a}, {}).ok());
  EXPECT_EQ(verify_consistency({8, 7, a, a}, {}).detail(), kProofBackwards);
  EXPECT_EQ(verify_consistency({4, 7, a, a}, {}).detail(), kProofLength);
  const Hashes endless(kProofHashesMax + 1, a);
  EXPECT_EQ(verify_inclusion({0, ~std::uint64_t{0}, a, a}, endless).detail(), kProofOversized);
  EXPECT_EQ(verify_consistency({1, ~std::uint64_t{0}, a, a}, endless).detail(), kProofOversized);
}

// Trees too large to build, as the definitions above see them: a proof is drawn at random, and the
// definition says which root it leads to.
class DrawnTree {
 public:
  MerkleHash root(std::uint64_t leaf_place, std::uint64_t size, const MerkleHash& leaf) {
    if (size == 1) {
      return leaf;
    }
    const std::uint64_t split = left_size(size);
    if (leaf_place < split) {
      const MerkleHash left = root(leaf_place, split, leaf);
      return hash_node(left, draw());
    }
    const MerkleHash right = root(leaf_place - split, size - split, leaf);
    return hash_node(draw(), right);
  }

  // {old root, new root}
  std::pair<MerkleHash, MerkleHash> roots(std::uint64_t old,
                                          std::uint64_t size,
                                          bool whole,
                                          const MerkleHash& old_root) {
    if (old == size) {
      const MerkleHash hash = whole ? old_root : draw();
      return {hash, hash};
    }
    const std::uint64_t split = left_size(size);
    if (old <= split) {
      const auto [before, after] = roots(old, split, whole, old_root);
      return {before, hash_node(after, draw())};
    }
    const auto [before, after] = roots(old - split, size - split, false, old_root);
    const MerkleHash left = draw();
    return {hash_node(left, before), hash_node(left, after)};
  }

  const Hashes& proof() const { return proof_; }

 private:
  MerkleHash draw() {
    const auto place = static_cast<std::byte>(proof_.size());
    proof_.push_back(hash_leaf({&place, 1}));
    return proof_.back();
  }

  Hashes proof_;
};

rc::Gen<std::uint64_t> any_size() {
  return rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 64), rc::gen::arbitrary<std::uint64_t>()),
                      [](const std::pair<int, std::uint64_t>& drawn) {
                        return (~drawn.second >> drawn.first) | 1;
                      });
}

RC_GTEST_PROP(MerkleProofProperty, TreesOfAnySizeAreProvedAsTheDefinitionSays, ()) {
  const auto size = *any_size();
  const auto place = *rc::gen::arbitrary<std::uint64_t>() % size;
  DrawnTree tree;
  const MerkleHash leaf = hash_leaf({});
  const MerkleHash root = tree.root(place, size, leaf);
  RC_ASSERT(tree.proof().size() <= kProofHashesMax);
  RC_ASSERT(verify_inclusion({place, size, leaf, root}, tree.proof()).ok());
  RC_ASSERT(size == 1 || !verify_inclusion({place, size, flipped(leaf), root}, tree.proof()).ok());
}

RC_GTEST_PROP(MerkleProofProperty, BeginningsOfAnySizeAreProvedAsTheDefinitionSays, ()) {
  const auto size = *any_size();
  const auto old = *rc::gen::arbitrary<std::uint64_t>() % size + 1;
  DrawnTree tree;
  const MerkleHash known = hash_leaf({});
  const auto [old_root, root] = tree.roots(old, size, true, known);
  RC_ASSERT(tree.proof().size() <= kProofHashesMax);
  RC_ASSERT(verify_consistency({old, size, old_root, root}, tree.proof()).ok());
}

TEST(MerkleProof, TheLastLeafOfTheLargestTreeIsProved) {
  constexpr std::uint64_t kLargest = ~std::uint64_t{0};
  DrawnTree last;
  const MerkleHash leaf = hash_leaf({});
  const MerkleHash root = last.root(kLargest - 1, kLargest, leaf);
  EXPECT_TRUE(verify_inclusion({kLargest - 1, kLargest, leaf, root}, last.proof()).ok());
  DrawnTree first;
  const MerkleHash other = first.root(0, kLargest, leaf);
  EXPECT_EQ(first.proof().size(), 64u);
  EXPECT_TRUE(verify_inclusion({0, kLargest, leaf, other}, first.proof()).ok());
  EXPECT_EQ(verify_inclusion({kLargest, kLargest, leaf, other}, first.proof()).detail(),
            kProofIndex);
}

}  // namespace
}  // namespace gcoord::ledger
