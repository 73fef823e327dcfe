// When a block hashes what its chunks have: at once what is worth it or presses, and nothing for
// longer than that. By the host twin, with a log that the test writes.
#include "ledger/trees/follow.h"

#include "ledger/merkle/frontier.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

namespace gcoord::ledger {
namespace {

constexpr std::uint32_t kShards = 2 * kMerkleBlockRuns;  // Two chunks.
constexpr std::uint32_t kPressing = 48;

// Leaf i of a shard is the hash of its number and i.
struct ListedLog {
  const std::vector<std::uint64_t>* decided_to;
  std::uint64_t* hashed_to;  // The table's sizes.

  std::uint64_t decided(std::uint32_t shard) const { return (*decided_to)[shard]; }

  void hashed(std::uint32_t shard, std::uint64_t size) const { hashed_to[shard] = size; }

  Sha256Words leaf(std::uint32_t shard, std::uint64_t index) const {
    // Whole words, as records lie in a log: the last one is read to its end.
    alignas(std::uint32_t) std::byte record[(kOneBlockRecordBytes + 3) / 4 * 4]{};
    std::memcpy(record, &shard, sizeof shard);
    std::memcpy(record + 8, &index, sizeof index);
    return hash_leaf_words(record, {.length = kOneBlockRecordBytes});
  }

  std::uint32_t pressing() const { return kPressing; }

  bool ends() const { return true; }
};

struct OwnedColumns {
  template <typename T>
  T* column(std::size_t count) {
    parts.push_back(std::make_unique<std::byte[]>(count * sizeof(T)));
    return reinterpret_cast<T*>(parts.back().get());
  }

  std::vector<std::unique_ptr<std::byte[]>> parts;
};

struct MerkleFollow : testing::Test {
  MerkleFollow() : follower(carve_follower(columns, kShards, 20, 1)) {}

  // The leaves that visit number `number` of the chunk that begins with `first` hashes.
  std::uint32_t visit(std::uint32_t first, std::uint32_t number, bool all = false) {
    return follow_chunk(follower,
                        ListedLog{&decided, follower.table.size},
                        {first, number, all},
                        follower.scratch[0],
                        *shared);
  }

  OwnedColumns columns;
  MerkleFollower follower;
  std::unique_ptr<FollowBlock> shared = std::make_unique<FollowBlock>();
  std::vector<std::uint64_t> decided = std::vector<std::uint64_t>(kShards, 0);
};

TEST_F(MerkleFollow, AChunkWaitsUntilItIsWorthAPass) {
  const std::uint32_t each = kFollowLeavesMin / kMerkleBlockRuns;
  static_assert(kFollowLeavesMin / kMerkleBlockRuns <= kPressing);
  for (std::uint32_t shard = 0; shard < kMerkleBlockRuns; ++shard) {
    decided[shard] = each - 1;
  }
  EXPECT_EQ(visit(0, 1), 0u);
  EXPECT_EQ(visit(0, 2, true), kMerkleBlockRuns * (each - 1));
}

TEST_F(MerkleFollow, AShardThatPressesTakesItsChunkAlongOnceAndNoOther) {
  decided[0] = kPressing - 1;
  decided[kMerkleBlockRuns] = 1;
  EXPECT_EQ(visit(0, 1), 0u);
  decided[0] = kPressing;
  decided[1] = 1;
  EXPECT_EQ(visit(0, 2), kFollowRunMax + 1);
  EXPECT_EQ(visit(kMerkleBlockRuns, 3), 0u);
  decided[0] += 1;  // Nothing presses any more: what it was pressed to before is past.
  EXPECT_EQ(visit(0, 4), 0u);
  EXPECT_EQ(follower.table.size[0], kFollowRunMax);
  EXPECT_EQ(follower.table.size[1], 1u);
}

TEST_F(MerkleFollow, AShardWithMoreThanAPassTakesIsNotForgotten) {
  decided[5] = 2 * kFollowRunMax + kPressing;
  std::uint32_t number = 0;
  for (std::uint32_t pass = 1; pass <= 3; ++pass) {
    EXPECT_EQ(visit(0, ++number), kFollowRunMax);
    EXPECT_EQ(follower.table.size[5], pass * kFollowRunMax);
  }
  EXPECT_EQ(visit(0, ++number), 0u) << "what is left can wait";
  EXPECT_EQ(visit(0, ++number, true), kPressing - kFollowRunMax);
  EXPECT_EQ(visit(0, ++number, true), 0u);
}

}  // namespace
}  // namespace gcoord::ledger
