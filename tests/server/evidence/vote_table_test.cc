#include "server/evidence/vote_table.h"

#include "tests/server/evidence/statements.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

constexpr NodeId kSelf{1};

class VoteTableTest : public testing::Test {
 protected:
  static VoteTable::Added add(VoteTable& table, NodeId voter, std::vector<VoteGrant> grants) {
    const VoteStatement statement = statement_of(voter, kSelf, std::move(grants));
    return table.add(statement, signed_by_voter(statement));
  }

  VoteTable table_{{.shard_count = 8}};
};

TEST_F(VoteTableTest, KeepsTheNewestVoteOfEachVoter) {
  EXPECT_FALSE(table_.holds(vote(2, 4)));
  const auto first = add(table_, NodeId{3}, {vote(2, 4), vote(5, 4)});
  EXPECT_TRUE(table_.holds(vote(2, 4)));
  EXPECT_EQ(table_.find(vote(2, 4), NodeId{3}), first.number);
  EXPECT_EQ(table_.find(vote(2, 4), NodeId{2}), 0u);
  const auto second = add(table_, NodeId{3}, {vote(2, 6)});
  EXPECT_FALSE(table_.holds(vote(2, 4)));
  EXPECT_EQ(table_.find(vote(2, 6), NodeId{3}), second.number);
  EXPECT_EQ(table_.find(vote(5, 4), NodeId{3}), first.number);
  EXPECT_EQ(add(table_, NodeId{3}, {vote(2, 5)}).number, 0u);
  EXPECT_EQ(add(table_, NodeId{3}, {vote(2, 6)}).number, 0u);
  EXPECT_EQ(table_.take_dropped(), 0u);
}

TEST_F(VoteTableTest, AStatementGoesWithTheLastOfItsVotes) {
  add(table_, NodeId{3}, {vote(2, 4), vote(5, 4)});
  const std::size_t one = table_.bytes();
  add(table_, NodeId{3}, {vote(2, 5)});
  const std::size_t two = table_.bytes();
  EXPECT_GT(two, one);
  add(table_, NodeId{3}, {vote(5, 5)});
  EXPECT_LT(table_.bytes(), two);
  add(table_, NodeId{3}, {vote(2, 9), vote(5, 9)});
  EXPECT_EQ(table_.bytes(), one);
}

TEST_F(VoteTableTest, AShardTwiceInAStatementCountsOnce) {
  const auto added = add(table_, NodeId{3}, {vote(2, 4), vote(2, 6), vote(2, 5)});
  EXPECT_EQ(table_.find(vote(2, 6), NodeId{3}), added.number);
  add(table_, NodeId{3}, {vote(2, 7)});
  EXPECT_FALSE(table_.holds(vote(2, 6)));
  add(table_, NodeId{3}, {vote(2, 8)});
  EXPECT_TRUE(table_.holds(vote(2, 8)));
}

TEST_F(VoteTableTest, ARivalIsShownEachStatementOnce) {
  const auto added = add(table_, NodeId{3}, {vote(2, 4), vote(5, 4)});
  EXPECT_EQ(table_.meet(vote(2, 4), NodeId{2}), std::vector{added.number});
  EXPECT_EQ(table_.meet(vote(2, 4), NodeId{2}), std::vector{added.number});  // Not shown yet.
  table_.set_shown(added.number, NodeId{2});
  EXPECT_TRUE(table_.meet(vote(2, 4), NodeId{2}).empty());
  EXPECT_TRUE(table_.meet(vote(5, 4), NodeId{2}).empty());
  EXPECT_EQ(table_.meet(vote(5, 4), NodeId{4}), std::vector{added.number});
  EXPECT_TRUE(table_.meet(vote(5, 3), NodeId{4}).empty());
}

TEST_F(VoteTableTest, AVoteThatComesAfterTheRivalNamesIt) {
  EXPECT_TRUE(table_.meet(vote(2, 4), NodeId{2}).empty());
  EXPECT_EQ(add(table_, NodeId{3}, {vote(1, 4), vote(2, 4)}).rivals, std::vector{NodeId{2}});
  EXPECT_TRUE(add(table_, NodeId{4}, {vote(2, 5)}).rivals.empty());
}

TEST_F(VoteTableTest, EachVoterHasItsOwnBytesAndTheOldestGoFirst) {
  VoteTable table({.shard_count = 1000, .bytes_max = 100'000, .voter_bytes_max = 2'000});
  add(table, NodeId{4}, {vote(999, 1)});
  for (std::uint32_t shard = 0; shard < 100; ++shard) {
    add(table, NodeId{3}, {vote(shard, 1)});
    EXPECT_LE(table.bytes(), 3'000u);
  }
  EXPECT_TRUE(table.holds(vote(999, 1)));
  EXPECT_TRUE(table.holds(vote(99, 1)));
  EXPECT_FALSE(table.holds(vote(0, 1)));
  EXPECT_GT(table.take_dropped(), 90u);
}

TEST_F(VoteTableTest, AllVotersTogetherAreBoundedToo) {
  VoteTable table({.shard_count = 1000, .bytes_max = 4'000, .voter_bytes_max = 2'000});
  for (std::uint32_t k = 0; k < 200; ++k) {
    add(table, NodeId{2 + k % 50}, {vote(k, 1)});
    EXPECT_LE(table.bytes(), 4'000u);
  }
  EXPECT_TRUE(table.holds(vote(199, 1)));
  EXPECT_FALSE(table.holds(vote(0, 1)));
}

// Whoever sends many statements loses its own.
TEST_F(VoteTableTest, WhereAllHaveTooManyTheVoterWithMostLosesItsOldest) {
  VoteTable table({.shard_count = 1000, .bytes_max = 4'000, .voter_bytes_max = 100'000});
  add(table, NodeId{9}, {vote(999, 1)});
  add(table, NodeId{2}, {vote(998, 1)});
  for (std::uint32_t k = 0; k < 200; ++k) {
    add(table, NodeId{5}, {vote(k, 1)});
    EXPECT_LE(table.bytes(), 4'000u);
  }
  EXPECT_TRUE(table.holds(vote(999, 1)));
  EXPECT_TRUE(table.holds(vote(998, 1)));
  EXPECT_TRUE(table.holds(vote(199, 1)));
  EXPECT_FALSE(table.holds(vote(0, 1)));
}

// Nodes that are replaced come back with other ids.
TEST_F(VoteTableTest, AnEighthVoterOfAShardTakesThePlaceOfTheLowestTerm) {
  for (std::uint32_t voter = 2; voter < 9; ++voter) {
    EXPECT_NE(add(table_, NodeId{voter}, {vote(0, voter == 5 ? 1 : 2)}).number, 0u);
  }
  const std::size_t seven = table_.bytes();
  EXPECT_EQ(add(table_, NodeId{9}, {vote(0, 1)}).number, 0u);
  EXPECT_EQ(table_.take_dropped(), 1u);
  const auto eighth = add(table_, NodeId{9}, {vote(0, 2)});
  EXPECT_NE(eighth.number, 0u);
  EXPECT_EQ(table_.find(vote(0, 2), NodeId{9}), eighth.number);
  EXPECT_EQ(table_.find(vote(0, 1), NodeId{5}), 0u);
  EXPECT_NE(table_.find(vote(0, 2), NodeId{8}), 0u);
  EXPECT_EQ(table_.take_dropped(), 1u);
  EXPECT_EQ(table_.bytes(), seven) << "the statement went with its vote";
  EXPECT_EQ(add(table_, NodeId{5}, {vote(0, 2)}).number, 0u);
}

TEST_F(VoteTableTest, AShardIsWatchedHoweverOftenItsNodesAreReplaced) {
  add(table_, NodeId{2}, {vote(0, 1), vote(1, 1)});
  for (std::uint32_t voter = 3; voter < 40; ++voter) {
    const auto added = add(table_, NodeId{voter}, {vote(0, voter)});
    EXPECT_EQ(table_.find(vote(0, voter), NodeId{voter}), added.number);
    EXPECT_EQ(table_.meet(vote(0, voter), NodeId{100}), std::vector{added.number});
  }
  EXPECT_TRUE(table_.holds(vote(1, 1))) << "of the statement that has lost one of two";
  const std::size_t before = table_.bytes();
  add(table_, NodeId{2}, {vote(1, 2)});
  EXPECT_EQ(table_.take_dropped(), 31u);
  EXPECT_LT(table_.bytes(), before) << "the first statement is gone with its last vote";
}

TEST_F(VoteTableTest, ShardsBeyondTheRowsTakeTheRowsOfOthers) {
  VoteTable table({.shard_count = 3 * VoteTable::kRowsMax});
  const auto first = add(table, NodeId{3}, {vote(7, 4), vote(8, 4)});
  add(table, NodeId{3}, {vote(7 + VoteTable::kRowsMax, 4)});
  EXPECT_FALSE(table.holds(vote(7, 4)));
  EXPECT_TRUE(table.holds(vote(7 + VoteTable::kRowsMax, 4)));
  EXPECT_EQ(table.find(vote(8, 4), NodeId{3}), first.number);
  EXPECT_EQ(table.take_dropped(), 1u);
  const auto both = add(table, NodeId{4}, {vote(9, 4), vote(9 + VoteTable::kRowsMax, 4)});
  EXPECT_EQ(table.find(vote(9 + VoteTable::kRowsMax, 4), NodeId{4}), both.number);
  EXPECT_FALSE(table.holds(vote(9, 4)));
}

}  // namespace
}  // namespace gcoord::server
