#include "server/replicas/active.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

// A message to the row, with as many bytes of entries as its term says. Its shard does not matter.
bool add(ActiveRows& rows, std::uint32_t row, std::uint64_t term = 1) {
  consensus::Message message;
  message.shard = ShardId{1000 + row};
  message.term = Term{term};
  return rows.add_message(row, message, std::vector<std::byte>(term, std::byte{7}));
}

TEST(ActiveRows, WhatIsTouchedDuringATurnWaitsForTheNext) {
  ActiveRows rows(4);
  std::vector<std::uint32_t> batch;
  rows.touch(1);
  rows.touch(1);
  rows.begin_turn();
  rows.touch(2);
  rows.take_batch(batch, 8);
  EXPECT_EQ(batch, std::vector<std::uint32_t>{1});
  rows.take_batch(batch, 8);
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(rows.waiting());
}

TEST(ActiveRows, ARowWithoutWorkLeavesNothingBehind) {
  ActiveRows rows(4);
  std::vector<std::uint32_t> batch;
  rows.touch(3).woken = 1;
  rows.begin_turn();
  rows.take_batch(batch, 8);
  rows.release_if_idle(3);
  EXPECT_EQ(rows.find(3), nullptr);
  EXPECT_EQ(rows.touch(0).woken, 0);
}

TEST(ActiveRows, MessagesKeepTheirOrder) {
  ActiveRows rows(4);
  for (std::uint64_t term = 1; term <= 20; ++term) {
    add(rows, static_cast<std::uint32_t>(term % 2), term);
  }
  RowWork& work = *rows.find(1);
  for (std::uint64_t term = 1; term <= 19; term += 2) {
    EXPECT_EQ(rows.message(rows.take_message(work)).message.term, Term{term});
  }
  EXPECT_EQ(work.message_first, 0u);
}

TEST(ActiveRows, MessagesOfAHeldRowOutliveTheTurn) {
  ActiveRows rows(4);
  add(rows, 2);
  rows.touch(2).held = true;
  rows.end_turn();
  EXPECT_NE(rows.find(2)->message_first, 0u);
}

TEST(ActiveRows, WhatIsLeftIsKeptInOrderWhileTheRestIsForgotten) {
  ActiveRows rows(4);
  for (std::uint64_t term = 1; term <= 3; ++term) {
    add(rows, 2, term);
  }
  for (std::size_t k = 0; k < ActiveRows::kMessagesMax / 2; ++k) {
    add(rows, 1);
    rows.take_message(*rows.find(1));
  }
  rows.end_turn();
  for (std::uint64_t term = 1; term <= 3; ++term) {
    const QueuedMessage& queued = rows.message(rows.take_message(*rows.find(2)));
    EXPECT_EQ(queued.message.term, Term{term});
    EXPECT_EQ(rows.extent(queued).size(), term);
  }
  EXPECT_EQ(rows.find(2)->message_first, 0u);
}

TEST(ActiveRows, AFullQueueTakesNoMessage) {
  ActiveRows rows(4);
  for (std::size_t k = 0; k < ActiveRows::kMessagesMax; ++k) {
    ASSERT_TRUE(add(rows, 2));
  }
  EXPECT_FALSE(add(rows, 1));
}

TEST(ActiveRows, WhatATurnLeavesComesFirstInTheNextAndOnlyOnce) {
  ActiveRows rows(8);
  std::vector<std::uint32_t> batch;
  rows.touch(1);
  rows.touch(2);
  rows.begin_turn();
  rows.take_batch(batch, 1);
  rows.touch(2);
  rows.touch(3);
  EXPECT_TRUE(rows.waiting());
  rows.begin_turn();
  rows.take_batch(batch, 8);
  EXPECT_EQ(batch, (std::vector<std::uint32_t>{2, 3}));
}

TEST(ActiveRows, ABurstIsForgottenOnlyWhenNothingIsLeftOfIt) {
  constexpr std::uint32_t kRows = 2 * ActiveRows::kWorksKept;
  ActiveRows rows(kRows);
  for (std::uint32_t row = 0; row < kRows; ++row) {
    rows.touch(row);
  }
  EXPECT_FALSE(rows.shrink());
  rows.begin_turn();
  std::vector<std::uint32_t> batch;
  rows.take_batch(batch, kRows);
  for (std::uint32_t row = 1; row < kRows; ++row) {
    rows.release_if_idle(row);
  }
  EXPECT_FALSE(rows.shrink());
  rows.release_if_idle(0);
  EXPECT_TRUE(rows.shrink());
  EXPECT_FALSE(rows.shrink());
  rows.touch(7);
  EXPECT_NE(rows.find(7), nullptr);
  EXPECT_EQ(rows.find(8), nullptr);
}

}  // namespace
}  // namespace gcoord::server
