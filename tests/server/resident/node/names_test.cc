// Ids and the numbers that devices have for them, and what a host is told of who leads.
#include "server/resident/node/names.h"

#include "server/resident/engine/leaders.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::server {
namespace {

const ResidentNames kNames(ResidentNames::Ids{NodeId{40}, NodeId{7}, NodeId{1000}});

TEST(ResidentNames, NumbersFollowTheOrderOfIdsAndStrangersHaveNone) {
  EXPECT_EQ(kNames.number(NodeId{7}), NodeId{1});
  EXPECT_EQ(kNames.number(NodeId{40}), NodeId{2});
  EXPECT_EQ(kNames.number(NodeId{1000}), NodeId{3});
  EXPECT_EQ(kNames.number(NodeId{8}), NodeId{});
  EXPECT_EQ(kNames.number(NodeId{}), NodeId{});
  EXPECT_EQ(kNames.id(NodeId{3}), NodeId{1000});
  EXPECT_EQ(kNames.id(NodeId{4}), NodeId{});
  EXPECT_EQ(kNames.id(NodeId{}), NodeId{});
  EXPECT_EQ(ResidentNames{}.number(NodeId{2}), NodeId{2});
}

TEST(ResidentNames, WhoLeadsIsTheNumberOfAWordAndTheIdOfAHost) {
  const TurnShape shape{.shard_count = 4, .stripe_count = 1};
  std::vector<std::uint64_t> words(4);
  std::vector<std::uint64_t> pages(1);
  const LeaderTable table{words.data(), pages.data(), 1};
  ResidentLeaders leaders(NodeId{1000}, shape, table, kNames);
  EXPECT_EQ(leaders.voting_count(), 4u);
  table.tell(
      2, encode({consensus::Role::Follower, Term{5}, NodeId{2}, standing_members(kStandingSlots)}));
  table.tell(3, encode({consensus::Role::Leader, Term{6}, NodeId{3}, 0b011}));
  table.close(0, 2, 1);
  for (const ResidentLeaders::Change& change : std::vector(leaders.look())) {
    leaders.set(change);
  }
  EXPECT_EQ(leaders.known(ShardId{2}).leader, NodeId{40});
  EXPECT_EQ(leaders.known(ShardId{3}).leader, NodeId{1000});
  EXPECT_TRUE(leaders.known(ShardId{3}).leads());
  EXPECT_EQ(leaders.voting_count(), 3u) << "its own slot is the third";
  EXPECT_TRUE(leaders.look().empty()) << "a word that is known is none that is new";
}

}  // namespace
}  // namespace gcoord::server
