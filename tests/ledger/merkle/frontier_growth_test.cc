#include "ledger/merkle/frontier_growth.h"

#include "ledger/base/error_details.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/tree_proof.h"

#include <gtest/gtest.h>

#include <array>

namespace gcoord::ledger {
namespace {

std::array<std::byte, 2> entry(std::uint64_t number) {
  return {static_cast<std::byte>(number), static_cast<std::byte>(number >> 8u)};
}

TEST(FrontierGrowth, SaysTheRootThatTheTreeWillHave) {
  constexpr std::uint64_t kEntries = 70;
  MemoryTree tree;
  for (std::uint64_t k = 0; k < kEntries; ++k) {
    tree.append(entry(k));
  }
  for (std::uint64_t start = 0; start <= kEntries; ++start) {
    MerkleFrontier frontier = frontier_at(tree, start).value();
    for (std::uint64_t size = start;; ++size) {
      ASSERT_EQ(frontier.size, size);
      ASSERT_EQ(root_of(frontier), root_at(tree, size).value()) << start << " to " << size;
      if (size == kEntries) {
        break;
      }
      append_leaf(frontier, hash_leaf(entry(size)));
    }
  }
}

TEST(FrontierGrowth, OfATreeThatIsNotThereIsNone) {
  MemoryTree tree;
  tree.append(entry(0));
  EXPECT_EQ(frontier_at(tree, 2).status().detail(), kLedgerBeyond);
}

}  // namespace
}  // namespace gcoord::ledger
