#include "ledger/merkle/tree_proof.h"

#include "ledger/base/error_details.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/proof.h"
#include "tests/ledger/tree_definition.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <span>
#include <vector>

namespace gcoord::ledger {
namespace {

std::vector<std::byte> entry_of(std::size_t index) {
  return std::vector<std::byte>(index % 70, static_cast<std::byte>(index));
}

// A tree, and its leaves for the definitions.
struct Grown {
  MemoryTree tree;
  Hashes leaves;

  explicit Grown(std::size_t size) {
    for (std::size_t index = 0; index < size; ++index) {
      tree.append(entry_of(index));
      leaves.push_back(hash_leaf(entry_of(index)));
    }
  }
};

constexpr std::size_t kLeaves = 40;

TEST(TreeProof, RootsOfAllSizesAreTheDefinitions) {
  const Grown grown(kLeaves);
  for (std::size_t size = 0; size <= kLeaves; ++size) {
    EXPECT_EQ(root_at(grown.tree, size).value(), root_of(grown.leaves, 0, size)) << size;
  }
}

TEST(TreeProof, InclusionProofsAreTheDefinitionsAndVerify) {
  const Grown grown(kLeaves);
  for (std::size_t size = 1; size <= kLeaves; ++size) {
    for (std::size_t index = 0; index < size; ++index) {
      const auto proof = inclusion_proof(grown.tree, index, size);
      ASSERT_TRUE(proof.ok());
      EXPECT_EQ(proof.value(), path(grown.leaves, index, 0, size)) << index << "/" << size;
      const MerkleHash root = root_at(grown.tree, size).value();
      EXPECT_TRUE(verify_inclusion({index, size, grown.leaves[index], root}, proof.value()).ok());
    }
  }
}

TEST(TreeProof, ConsistencyProofsAreTheDefinitionsAndVerify) {
  const Grown grown(kLeaves);
  for (std::size_t size = 0; size <= kLeaves; ++size) {
    for (std::size_t old = 0; old <= size; ++old) {
      const auto proof = consistency_proof(grown.tree, old, size);
      ASSERT_TRUE(proof.ok());
      if (old != 0) {
        EXPECT_EQ(proof.value(), subproof(grown.leaves, old, 0, size)) << old << "/" << size;
      }
      const ConsistencyClaim claim{
          old, size, root_at(grown.tree, old).value(), root_at(grown.tree, size).value()};
      EXPECT_TRUE(verify_consistency(claim, proof.value()).ok()) << old << "/" << size;
    }
  }
}

RC_GTEST_PROP(TreeProofProperty, AnyProofOfALargerTreeVerifies, ()) {
  static const Grown grown(5000);
  const auto size = *rc::gen::inRange<std::uint64_t>(1, 5001);
  const auto index = *rc::gen::inRange<std::uint64_t>(0, size);
  const auto old = *rc::gen::inRange<std::uint64_t>(0, size + 1);
  const MerkleHash root = root_at(grown.tree, size).value();
  const auto inclusion = inclusion_proof(grown.tree, index, size);
  RC_ASSERT(verify_inclusion({index, size, grown.leaves[index], root}, inclusion.value()).ok());
  const auto consistency = consistency_proof(grown.tree, old, size);
  const ConsistencyClaim claim{old, size, root_at(grown.tree, old).value(), root};
  RC_ASSERT(verify_consistency(claim, consistency.value()).ok());
}

TEST(TreeProof, TreesAndLeavesThatTheLogDoesNotHaveAreRefused) {
  const Grown grown(5);
  EXPECT_EQ(root_at(grown.tree, 6).status().detail(), kLedgerBeyond);
  EXPECT_EQ(inclusion_proof(grown.tree, 0, 6).status().detail(), kLedgerBeyond);
  EXPECT_EQ(inclusion_proof(grown.tree, 3, 3).status().detail(), kLedgerBeyond);
  EXPECT_EQ(inclusion_proof(grown.tree, 0, 0).status().detail(), kLedgerBeyond);
  EXPECT_EQ(consistency_proof(grown.tree, 4, 3).status().detail(), kLedgerBeyond);
  EXPECT_EQ(consistency_proof(grown.tree, 1, ~std::uint64_t{0}).status().detail(), kLedgerBeyond);
}

TEST(MemoryTree, ShowsEntriesAndHashesWithinItsSizeOnly) {
  const Grown grown(5);
  EXPECT_EQ(grown.tree.size(), 5u);
  EXPECT_EQ(grown.tree.entries(1, 4).value()[3], entry_of(4));
  EXPECT_EQ(grown.tree.hashes(0, 0, 5).value(), grown.leaves);
  EXPECT_EQ(grown.tree.hashes(2, 0, 1).value()[0], root_of(grown.leaves, 0, 4));
  EXPECT_EQ(grown.tree.hashes(2, 1, 1).status().detail(), kLedgerBeyond);
  EXPECT_EQ(grown.tree.hashes(63, 0, 1).status().detail(), kLedgerBeyond);
  EXPECT_EQ(grown.tree.hashes(0, ~std::uint64_t{0}, 2).status().detail(), kLedgerBeyond);
  EXPECT_EQ(grown.tree.entries(2, 4).status().detail(), kLedgerBeyond);
}

TEST(MemoryTree, APrunedOneStillProvesWhatItKeeps) {
  Grown grown(20);
  grown.tree.prune(7);
  grown.tree.prune(3);
  grown.tree.prune(21);
  EXPECT_EQ(grown.tree.first(), 7u);
  EXPECT_EQ(grown.tree.entries(6, 2).status().detail(), kLedgerPruned);
  EXPECT_EQ(grown.tree.entries(7, 1).value()[0], entry_of(7));
  EXPECT_EQ(inclusion_proof(grown.tree, 7, 20).value(), path(grown.leaves, 7, 0, 20));
}

}  // namespace
}  // namespace gcoord::ledger
