#include "ledger/merkle/entry_walk.h"

#include "ledger/merkle/memory_tree.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace gcoord::ledger {
namespace {

class EntryWalkTest : public testing::Test {
 protected:
  // Entries are their own index.
  void grow_to(std::uint64_t size) {
    for (std::uint64_t index = tree_.size(); index < size; ++index) {
      tree_.append(std::as_bytes(std::span{&index, 1}));
    }
  }

  Status walk(std::uint64_t end) {
    return walk_entries(
        tree_,
        next_,
        end,
        [this] { return ++reads_ <= reads_max_; },
        [this](std::span<const std::byte> entry) { return see(entry); });
  }

  Status see(std::span<const std::byte> entry) {
    std::uint64_t index = 0;
    std::memcpy(&index, entry.data(), sizeof index);
    EXPECT_EQ(next_, index + 1);
    seen_.push_back(index);
    return index == refused_ ? Status{StatusCode::DataLoss, "refused"} : Status{};
  }

  MemoryTree tree_;
  std::uint64_t next_ = 0;
  int reads_ = 0;
  int reads_max_ = 100;
  std::uint64_t refused_ = ~std::uint64_t{0};
  std::vector<std::uint64_t> seen_;
};

TEST_F(EntryWalkTest, EveryEntryIsSeenOnceHoweverOftenTheWalkGoesOn) {
  for (const std::uint64_t size : {3u, 3u, 700u, 1000u}) {
    grow_to(size);
    ASSERT_TRUE(walk(900).ok());
    EXPECT_EQ(next_, std::min<std::uint64_t>(size, 900)) << "as far as the tree and its end allow";
  }
  ASSERT_TRUE(walk(100).ok()) << "an end behind it";
  ASSERT_EQ(seen_.size(), 900u);
  for (std::uint64_t index = 0; index < seen_.size(); ++index) {
    EXPECT_EQ(seen_[index], index);
  }
}

TEST_F(EntryWalkTest, ItStopsBetweenReadsWhenItIsTold) {
  grow_to(1000);
  reads_max_ = 2;
  ASSERT_TRUE(walk(1000).ok());
  EXPECT_EQ(next_, 2 * kWalkEntries);
}

TEST_F(EntryWalkTest, AnEntryThatIsRefusedEndsIt) {
  grow_to(10);
  refused_ = 4;
  EXPECT_EQ(walk(10).code(), StatusCode::DataLoss);
  EXPECT_EQ(next_, 5u);
  EXPECT_EQ(seen_.size(), 5u);
}

TEST_F(EntryWalkTest, WhatWasPrunedIsNotSteppedOver) {
  grow_to(10);
  tree_.prune(4);
  next_ = 3;
  EXPECT_EQ(walk(10).detail(), kLedgerPruned);
  EXPECT_EQ(next_, 3u);
  EXPECT_TRUE(seen_.empty());
  next_ = 4;
  EXPECT_TRUE(walk(10).ok());
  EXPECT_EQ(next_, 10u);
}

}  // namespace
}  // namespace gcoord::ledger
