// The judge of groups finds what breaks their promises, and nothing else.
#include "chaos/groups/group_judge.h"

#include <gtest/gtest.h>

namespace gcoord::chaos {
namespace {

const std::string kName = "crew";

SeenRound round_of(std::uint64_t number, std::uint64_t session, std::uint64_t rank) {
  return {.session = session,
          .round = number,
          .rank = rank,
          .members_min = 2,
          .members_max = 3,
          .members = {{SessionId{5}, "a"}, {SessionId{6}, "b"}}};
}

TEST(GroupJudge, UnderOneEpochEverybodySeesTheSameMembers) {
  GroupJudge judge;
  EXPECT_EQ(judge.take_view(kName, {}, {7, {"a"}}), "");
  EXPECT_EQ(judge.take_view(kName, {}, {7, {"a"}}), "");
  EXPECT_EQ(judge.take_view("other", {}, {7, {"b"}}), "");
  EXPECT_NE(judge.take_view(kName, {}, {7, {"b"}}), "");
}

TEST(GroupJudge, ViewsWithoutAGapAreConsecutiveAndDiffer) {
  GroupJudge judge;
  EXPECT_EQ(judge.take_view(kName, {7, {"a"}}, {8, {"a", "b"}}), "");
  EXPECT_NE(judge.take_view(kName, {8, {"a", "b"}}, {10, {"a"}}), "");
  EXPECT_NE(judge.take_view(kName, {8, {"a", "b"}}, {9, {"a", "b"}}), "");
}

TEST(GroupJudge, ABarrierIsReleasedWhenAllHaveSentTheirArrivals) {
  GroupJudge judge;
  judge.arrives(kName, 5);
  judge.arrives(kName, 6);
  EXPECT_EQ(judge.take_release(kName, 5, {1, 2}), "");
  EXPECT_EQ(judge.take_release(kName, 6, {1, 2}), "");
  judge.arrives(kName, 5);
  judge.arrives(kName, 6);
  judge.withdrawn(kName, 6);
  EXPECT_NE(judge.take_release(kName, 5, {2, 2}), "");
}

TEST(GroupJudge, ARoundIsTheSameForAllItsMembers) {
  GroupJudge judge;
  EXPECT_EQ(judge.take_round(kName, round_of(7, 5, 0)), "");
  EXPECT_EQ(judge.take_round(kName, round_of(7, 6, 1)), "");
  EXPECT_NE(judge.take_round(kName, round_of(8, 6, 0)), "") << "another session at the rank";
  SeenRound other = round_of(7, 5, 0);
  other.members.push_back({SessionId{9}, "c"});
  EXPECT_NE(judge.take_round(kName, other), "");
  SeenRound few = round_of(9, 5, 0);
  few.members.resize(1);
  EXPECT_NE(judge.take_round(kName, few), "");
}

TEST(GroupJudge, NoRoundIsCompleteWhileSomebodyIsInAnEarlierOne) {
  GroupJudge judge;
  EXPECT_EQ(judge.take_round(kName, round_of(7, 5, 0)), "");
  SeenRound next = round_of(8, 6, 0);
  next.members = {{SessionId{6}, "b"}, {SessionId{7}, "c"}};
  GroupJudge strict = judge;
  EXPECT_NE(strict.take_round(kName, next), "");
  judge.out(kName, 5);
  EXPECT_EQ(judge.take_round(kName, next), "");
}

}  // namespace
}  // namespace gcoord::chaos
