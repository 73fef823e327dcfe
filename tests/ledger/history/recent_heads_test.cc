// Heads of trees that have grown since, from memory alone.
#include "ledger/history/history.h"
#include "tests/ledger/history/history_world.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gcoord::ledger {
namespace {

constexpr std::uint64_t kAgainMax = 64;  // Leaves that are hashed again for a root at most.

struct RecentHeads {
  RecentHeads()
      : history(History::open({.shard_count = 2}, make_cpu_merkle_device(), *store).value()) {}

  void append(std::uint64_t count) {
    auto batch = std::make_shared<HistoryEntries>();
    for (std::uint64_t index = model.size(); count > 0; ++index, --count) {
      const auto bytes = entry_bytes_of(1, index);
      batch->add(ShardId{1}, index, bytes);
      model.append(bytes);
    }
    ASSERT_TRUE(history->append(batch).ok());
  }

  ShardHead at(std::uint64_t size) const {
    const ShardHead named{.shard = ShardId{1}, .size = size, .root = {}};
    return history->heads_at({&named, 1}).value().front();
  }

  HistoryMedium medium;
  std::unique_ptr<HistoryStore> store = open_memory_history_store(medium);
  std::shared_ptr<History> history;
  MemoryTree model;
};

// Leaves of a tree of `size` that are no part of a subtree which a tree of `now` has as a peak.
std::uint64_t leaves_again(std::uint64_t size, std::uint64_t now) {
  const auto same_from = static_cast<unsigned>(std::bit_width(size ^ now));
  return size - (size >> same_from << same_from);
}

RC_GTEST_PROP(RecentHeadsTest, EveryRootIsTheOneThatTheTreeHadAndFewAreMissing, ()) {
  RecentHeads world;
  for (int batches = *rc::gen::inRange(1, 8); batches > 0; --batches) {
    world.append(*rc::gen::inRange<std::uint64_t>(1, 90));
  }
  const std::uint64_t now = world.model.size();
  for (std::uint64_t size = 1; size <= now; ++size) {
    const ShardHead head = world.at(size);
    RC_ASSERT(head.shard == ShardId{1});
    if (size != now && leaves_again(size, now) > kAgainMax) {
      RC_ASSERT(head.size == 0u);
      continue;
    }
    RC_ASSERT(head.size == size);
    RC_ASSERT(head.root == root_at(world.model, size).value());
  }
}

TEST(RecentHeadsTest, WhatATreeHasNotYetOrNeverHadIsNotKnown) {
  RecentHeads world;
  world.append(5);
  EXPECT_EQ(world.at(6).size, 0u);
  EXPECT_EQ(world.at(0).size, 0u);
  const ShardHead empty{.shard = ShardId{0}, .size = 1, .root = {}};
  EXPECT_EQ(world.history->heads_at({&empty, 1}).value().front().size, 0u);
}

TEST(RecentHeadsTest, LeavesThatMemoryHasNoMoreAreForTheReader) {
  RecentHeads world;
  world.append(7);
  ASSERT_TRUE(world.history->flush().ok());
  world.append(1);
  EXPECT_EQ(world.at(8).size, 8u);
  EXPECT_EQ(world.at(7).size, 0u) << "leaves 0 to 6 are in the store only";
  world.append(3);
  EXPECT_EQ(world.at(9).root, root_at(world.model, 9).value());
}

}  // namespace
}  // namespace gcoord::ledger
