#include "server/waits/wait_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace gcoord::server {
namespace {

WaitKey key(std::uint32_t shard, std::uint64_t session, std::uint64_t sequence) {
  return {ShardId{shard}, SessionId{session}, RequestSequence{sequence}};
}

Wait wait(std::uint64_t connection, Tick deadline = kTickNever) {
  Wait result;
  result.connection = protocol::ConnectionId{connection};
  result.deadline = deadline;
  return result;
}

TEST(WaitTableTest, RebindingReturnsTheOldBinding) {
  WaitTable table;
  EXPECT_FALSE(table.bind(key(1, 2, 3), wait(10)).has_value());
  const auto replaced = table.bind(key(1, 2, 3), wait(11));
  ASSERT_TRUE(replaced.has_value());
  EXPECT_EQ(replaced->connection, protocol::ConnectionId{10});
  EXPECT_EQ(table.take(key(1, 2, 3))->connection, protocol::ConnectionId{11});
  EXPECT_FALSE(table.take(key(1, 2, 3)).has_value());
}

TEST(WaitTableTest, DeadlinesComeInOrderAndOnce) {
  WaitTable table;
  table.bind(key(1, 1, 1), wait(1, Tick{20}));
  table.bind(key(1, 2, 1), wait(2, Tick{10}));
  table.bind(key(1, 3, 1), wait(3));
  EXPECT_EQ(table.next_deadline(), Tick{10});
  EXPECT_FALSE(table.next_due(Tick{9}).has_value());
  EXPECT_EQ(table.next_due(Tick{25})->session, SessionId{2});
  EXPECT_EQ(table.next_due(Tick{25})->session, SessionId{1});
  EXPECT_FALSE(table.next_due(Tick{25}).has_value());
  EXPECT_EQ(table.next_deadline(), kTickNever);
  EXPECT_EQ(table.size(), 3u);  // They wait until the log has decided.
}

TEST(WaitTableTest, ADeadlineGoesWithItsWait) {
  WaitTable table;
  table.bind(key(1, 1, 1), wait(1, Tick{20}));
  table.bind(key(1, 1, 1), wait(2, Tick{30}));
  EXPECT_EQ(table.next_deadline(), Tick{30});
  table.take(key(1, 1, 1));
  EXPECT_EQ(table.next_deadline(), kTickNever);
  table.set_deadline(key(1, 1, 1), Tick{5});
  EXPECT_EQ(table.next_deadline(), kTickNever);
}

TEST(WaitTableTest, LeavingAShardEndsItsWaitsAndNoOthers) {
  WaitTable table;
  table.bind(key(1, 1, 1), wait(1));
  table.bind(key(2, 1, 1), wait(2, Tick{5}));
  table.bind(key(2, 9, 1), wait(3));
  table.bind(key(3, 1, 1), wait(4));
  table.leave(ShardId{2}, NodeId{7});
  table.leave(ShardId{5}, NodeId{7});  // Has none.
  EXPECT_TRUE(table.leaving());
  const auto first = table.next_left();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->wait.connection, protocol::ConnectionId{2});
  EXPECT_EQ(first->leader, NodeId{7});
  EXPECT_EQ(table.next_deadline(), kTickNever);
  EXPECT_EQ(table.next_left()->wait.connection, protocol::ConnectionId{3});
  EXPECT_FALSE(table.next_left().has_value());
  EXPECT_FALSE(table.leaving());
  EXPECT_EQ(table.size(), 2u);
}

// The node leads again before all of them are ended.
TEST(WaitTableTest, WhatIsBoundBehindTheLeavingStays) {
  WaitTable table;
  table.bind(key(2, 1, 1), wait(1));
  table.bind(key(2, 2, 1), wait(2));
  table.bind(key(2, 3, 1), wait(3));
  table.leave(ShardId{2}, NodeId{7});
  table.bind(key(2, 1, 1), wait(4));  // Asked again.
  table.bind(key(2, 4, 1), wait(5));
  EXPECT_EQ(table.next_left()->wait.connection, protocol::ConnectionId{2});
  const auto granted = table.take(key(2, 3, 1));
  EXPECT_EQ(table.left_to(ShardId{2}, granted->number), NodeId{7});
  EXPECT_FALSE(table.next_left().has_value());
  EXPECT_FALSE(table.left_to(ShardId{2}, 1).has_value());
  EXPECT_EQ(table.size(), 2u);
}

TEST(WaitTableTest, CountsTheWaitsOfEachShard) {
  WaitTable table;
  EXPECT_EQ(table.count_of(ShardId{7}), 0u);
  table.bind(key(7, 1, 1), wait(1, Tick{5}));
  table.bind(key(7, 1, 1), wait(2));  // Again: one wait.
  table.bind(key(7, 2, 1), wait(3));
  table.bind(key(3, 1, 1), wait(4));
  EXPECT_EQ(table.count_of(ShardId{7}), 2u);
  EXPECT_EQ(table.count_of(ShardId{3}), 1u);
  EXPECT_EQ(table.count_of(ShardId{4}), 0u);
  EXPECT_EQ(table.count_of(ShardId{1'000'000}), 0u);
  EXPECT_FALSE(table.take(key(7, 3, 1)).has_value());
  EXPECT_EQ(table.count_of(ShardId{7}), 2u);
  EXPECT_TRUE(table.take(key(7, 1, 1)).has_value());
  EXPECT_EQ(table.count_of(ShardId{7}), 1u);
  table.leave(ShardId{7}, NodeId{2});
  EXPECT_TRUE(table.next_left().has_value());
  EXPECT_EQ(table.count_of(ShardId{7}), 0u);
  EXPECT_FALSE(table.next_left().has_value());
  EXPECT_EQ(table.count_of(ShardId{3}), 1u);
}

// What the counts say and what the table finds never differ: each lookup of a table under a long
// random history answers as a plain map does.
TEST(WaitTableTest, FindsWhatAPlainMapFinds) {
  WaitTable table;
  std::map<WaitKey, std::uint64_t> model;
  std::mt19937_64 random(27);
  for (std::uint64_t step = 1; step <= 20'000; ++step) {
    const std::uint64_t word = random();
    const WaitKey at =
        key(static_cast<std::uint32_t>(word % 5), 1 + word / 5 % 3, 1 + word / 15 % 2);
    const std::uint64_t action = word >> 60;
    if (action < 5) {
      table.bind(at, wait(step, step % 2 == 0 ? Tick{step} : kTickNever));
      model[at] = step;
    } else if (action < 13) {
      const auto taken = table.take(at);
      const auto found = model.find(at);
      ASSERT_EQ(taken.has_value(), found != model.end()) << step;
      if (taken.has_value()) {
        ASSERT_EQ(taken->connection, protocol::ConnectionId{found->second});
        model.erase(found);
      }
    } else if (action < 15) {
      ASSERT_EQ(table.started_us(at).has_value(), model.contains(at)) << step;
    } else {
      table.leave(at.shard, NodeId{1});
      while (table.next_left().has_value()) {
      }
      std::erase_if(model, [&](const auto& each) { return each.first.shard == at.shard; });
    }
    ASSERT_EQ(table.size(), model.size()) << step;
  }
}

}  // namespace
}  // namespace gcoord::server
