// The frontier of a tree of any size, against RFC 6962's definition.
#include "ledger/snapshot/frontier.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

namespace gcoord::ledger {
namespace {

// A tree of n entries, each its number as text, by the definition and nothing else.
class SmallTree final : public TreeReader {
 public:
  explicit SmallTree(std::uint64_t size) : size_(size) {}

  std::uint64_t size() const override { return size_; }

  std::uint64_t first() const override { return 0; }

  Result<std::vector<MerkleHash>> hashes(std::uint32_t level,
                                         std::uint64_t index,
                                         std::size_t count) const override {
    EXPECT_LE((index + count) << level, size_);
    std::vector<MerkleHash> found;
    for (std::uint64_t k = index; k < index + count; ++k) {
      found.push_back(root(k << level, (k + 1) << level));
    }
    return found;
  }

  Result<std::vector<std::vector<std::byte>>> entries(std::uint64_t, std::size_t) const override {
    return Status{StatusCode::OutOfRange, "nobody asks"};
  }

  // Of the leaves from begin to end: split at the largest power of two below their number.
  MerkleHash root(std::uint64_t begin, std::uint64_t end) const {
    if (begin == end) {
      return empty_root();
    }
    if (end - begin == 1) {
      const std::string text = std::to_string(begin);
      return hash_leaf(std::as_bytes(std::span{text}));
    }
    const std::uint64_t split = begin + std::bit_floor(end - begin - 1);
    return hash_node(root(begin, split), root(split, end));
  }

 private:
  std::uint64_t size_;
};

TEST(SnapshotFrontier, HasARootPerBitOfTheSizeAndTheyMakeTheTreesRoot) {
  const SmallTree tree(70);
  for (std::uint64_t size = 0; size <= 70; ++size) {
    const auto frontier = snapshot_frontier(tree, size);
    ASSERT_TRUE(frontier.ok());
    EXPECT_EQ(frontier.value().size, size);
    ASSERT_EQ(frontier.value().peaks.size(), static_cast<std::size_t>(std::popcount(size)));
    MerkleHash root = size == 0 ? empty_root() : frontier.value().peaks.back();
    for (std::size_t k = frontier.value().peaks.size(); k-- > 1;) {
      root = hash_node(frontier.value().peaks[k - 1], root);
    }
    EXPECT_EQ(root, tree.root(0, size)) << size;
  }
  EXPECT_EQ(snapshot_frontier(tree, 71).status().code(), StatusCode::OutOfRange);
}

}  // namespace
}  // namespace gcoord::ledger
