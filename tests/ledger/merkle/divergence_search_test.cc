#include "ledger/merkle/divergence_search.h"

#include "ledger/base/error_details.h"
#include "ledger/merkle/memory_tree.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace gcoord::ledger {
namespace {

// A tree whose entries from `other_from` on are not those of its neighbours.
void grow(MemoryTree& tree, std::uint64_t size, std::uint64_t other_from) {
  for (std::uint64_t k = 0; k < size; ++k) {
    tree.append(std::array<std::byte, 3>{
        static_cast<std::byte>(k), static_cast<std::byte>(k >> 8u), std::byte{k >= other_from}});
  }
}

std::uint32_t run(DivergenceSearch& search, const TreeReader& other) {
  std::uint32_t questions = 0;
  while (const auto asked = search.question()) {
    EXPECT_LE(asked->count, 256u);
    const auto answer = other.hashes(asked->level, asked->index, asked->count);
    EXPECT_TRUE(search.on_answer(answer.value()).ok());
    ++questions;
  }
  return questions;
}

TEST(DivergenceSearch, NamesTheFirstEntryThatDiffers) {
  for (const std::uint64_t size : {1u, 2u, 3u, 255u, 256u, 257u, 1000u}) {
    MemoryTree own;
    grow(own, size, size);
    for (std::uint64_t at = 0; at < size; at += 1 + size / 40) {
      MemoryTree other;
      grow(other, size, at);
      DivergenceSearch search(own, size);
      EXPECT_LE(run(search, other), 12u);
      ASSERT_EQ(search.found(), at) << "of " << size;
    }
  }
}

TEST(DivergenceSearch, EndsWithoutAFindWhenNothingDiffers) {
  MemoryTree own;
  grow(own, 300, 300);
  DivergenceSearch search(own, 300);
  run(search, own);
  EXPECT_TRUE(search.ended());
  EXPECT_FALSE(search.found());
}

TEST(DivergenceSearch, EndsWhenTheAnswersContradictEachOther) {
  MemoryTree own;
  grow(own, 256, 256);
  DivergenceSearch search(own, 256);
  ASSERT_TRUE(search.on_answer(std::vector<MerkleHash>(1)).ok());
  const auto asked = search.question();
  ASSERT_EQ(asked, (SubtreeRange{.level = 0, .index = 0, .count = 256}));
  ASSERT_TRUE(search.on_answer(own.hashes(0, 0, 256).value()).ok());
  EXPECT_TRUE(search.ended());
  EXPECT_FALSE(search.found());
}

TEST(DivergenceSearch, DoesNotTakeAnAnswerOfAnotherLength) {
  MemoryTree own;
  grow(own, 8, 8);
  DivergenceSearch search(own, 8);
  EXPECT_EQ(search.on_answer(std::vector<MerkleHash>(2)).detail(), kLedgerBeyond);
  EXPECT_TRUE(search.question());
}

}  // namespace
}  // namespace gcoord::ledger
