#include "server/peers/paced_batches.h"

#include <gtest/gtest.h>

#include <set>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kRows = 40;
constexpr std::uint32_t kBatch = 16;  // Over with two left.

class PacedBatchesTest : public ::testing::Test {
 protected:
  PacedBatchesTest() {
    for (std::uint32_t row = 0; row < kRows; ++row) {
      rows_.note(row, true);
    }
  }

  // How many rows were looked at.
  std::uint32_t advance(std::uint64_t tick) {
    std::uint32_t looks = 0;
    rows_.advance(Tick{tick}, [&](std::uint32_t row) {
      ++looks;
      under_way_.insert(row);
    });
    return looks;
  }

  // Rows under way that come to their end.
  void finish(std::uint32_t count) {
    for (; count > 0; --count) {
      rows_.note(*under_way_.begin(), false);
      under_way_.erase(under_way_.begin());
    }
  }

  PacedBatches rows_{kRows, kBatch};
  std::set<std::uint32_t> under_way_;
};

TEST_F(PacedBatchesTest, RestsAsLongAsABatchTookAndATickMore) {
  ASSERT_TRUE(rows_.waiting());
  EXPECT_EQ(advance(100), kBatch);
  EXPECT_FALSE(rows_.waiting());
  EXPECT_EQ(rows_.next_batch(), Tick{100 + PacedBatches::kTicksMost});
  finish(kBatch - 3);
  EXPECT_FALSE(rows_.waiting()) << "places are free, but the batch is under way";
  EXPECT_EQ(advance(103), 0u);
  finish(1);
  EXPECT_TRUE(rows_.waiting()) << "the rest is to begin";
  EXPECT_EQ(advance(104), 0u);
  EXPECT_FALSE(rows_.waiting());
  EXPECT_EQ(rows_.next_batch(), Tick{109});
  EXPECT_EQ(advance(108), 0u);
  EXPECT_EQ(advance(109), kBatch - 2) << "two keep their places";
}

TEST_F(PacedBatchesTest, WhatIsSlowHoldsUpTheOthersForABoundedTime) {
  EXPECT_EQ(advance(100), kBatch);
  finish(kBatch / 2);
  EXPECT_EQ(advance(100 + PacedBatches::kTicksMost - 1), 0u);
  EXPECT_EQ(advance(100 + PacedBatches::kTicksMost), 0u);
  EXPECT_EQ(rows_.next_batch(), Tick{101 + 2 * PacedBatches::kTicksMost});
  EXPECT_EQ(advance(101 + 2 * PacedBatches::kTicksMost), kBatch / 2);
}

TEST_F(PacedBatchesTest, RowsUnderWayAreLookedAtInARest) {
  advance(100);
  finish(kBatch - 1);
  advance(101);
  const std::uint32_t row = *under_way_.begin();
  rows_.note(row, true);
  EXPECT_TRUE(rows_.waiting());
  EXPECT_EQ(advance(102), 1u);
  EXPECT_FALSE(rows_.waiting());
}

TEST_F(PacedBatchesTest, LooksThatLeadToNothingNeedNoRest) {
  std::uint32_t looks = 0;
  const auto look = [&](std::uint32_t row) {
    ++looks;
    rows_.keep(row, false);
  };
  rows_.advance(Tick{100}, look);
  EXPECT_EQ(looks, kBatch);
  EXPECT_TRUE(rows_.waiting());
  rows_.advance(Tick{100}, look);
  rows_.advance(Tick{100}, look);
  EXPECT_EQ(looks, kRows);
  EXPECT_FALSE(rows_.waiting());
  EXPECT_EQ(rows_.next_batch(), kTickNever);
}

TEST_F(PacedBatchesTest, WhereNothingIsLeftThereIsNoRest) {
  advance(100);
  finish(kBatch);
  for (std::uint32_t row = 0; row < kRows; ++row) {
    rows_.note(row, false);
  }
  EXPECT_EQ(advance(200), 0u);
  EXPECT_EQ(rows_.next_batch(), kTickNever);
  rows_.note(7, true);
  EXPECT_EQ(advance(200), 1u);
}

}  // namespace
}  // namespace gcoord::server
