// Which earlier views some node may still go by.
#include "server/members/followers.h"

#include "server/interfaces/cluster_members.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ClusterView;
using protocol::Member;
using protocol::MemberRole;
using protocol::MemberState;
using Lists = std::vector<std::vector<NodeId>>;

std::vector<NodeId> ids(const std::vector<std::uint32_t>& values) {
  std::vector<NodeId> result;
  for (const std::uint32_t value : values) {
    result.push_back(NodeId{value});
  }
  return result;
}

// A cluster's views one after another, and what its nodes say.
class ViewFollowersTest : public testing::Test {
 protected:
  // The next view: these vote, and everybody else of an earlier view is a tombstone.
  void view(const std::vector<std::uint32_t>& voters) {
    std::set<std::uint32_t> all(voters.begin(), voters.end());
    ClusterView next{.epoch = kept_.empty() ? 1 : kept_.rbegin()->first + 1};
    if (!kept_.empty()) {
      for (const Member& node : kept_.rbegin()->second.nodes) {
        all.insert(node.id.value);
      }
    }
    for (const std::uint32_t id : all) {
      Member node;
      node.id = NodeId{id};
      const bool votes = std::ranges::find(voters, id) != voters.end();
      node.state = votes ? MemberState::Active : MemberState::Removed;
      next.nodes.push_back(node);
    }
    kept_[next.epoch] = next;
  }

  // Node 1, which looks, goes by the newest itself.
  bool look(ViewFollowers& followers) {
    said_[1] = kept_.rbegin()->first;
    return followers.look({.oldest = kept_.begin()->first,
                           .newest = kept_.rbegin()->first,
                           .at =
                               [this](std::uint64_t epoch) {
                                 const auto found = kept_.find(epoch);
                                 return found == kept_.end() ? std::nullopt
                                                             : std::optional(found->second);
                               }},
                          [this](NodeId node) { return said_[node.value]; });
  }

  bool look() { return look(followers_); }

  const Lists& earlier() const { return followers_.earlier_voters(); }

  std::map<std::uint64_t, ClusterView> kept_;
  std::map<std::uint32_t, std::uint64_t> said_;
  ViewFollowers followers_;
};

TEST_F(ViewFollowersTest, WithoutAViewThereIsNothing) {
  EXPECT_FALSE(followers_.look({}, [](NodeId) { return std::uint64_t{0}; }));
  EXPECT_EQ(followers_.settled(), 0u);
  EXPECT_TRUE(earlier().empty());
}

TEST_F(ViewFollowersTest, AViewIsLeftOnceMoreThanHalfOfItsVotersSaidANewerOne) {
  view({1, 2, 3});
  EXPECT_FALSE(look());
  EXPECT_EQ(followers_.settled(), 1u);
  view({1, 2, 3, 4});
  EXPECT_TRUE(look());
  EXPECT_EQ(earlier(), Lists{ids({1, 2, 3})});
  EXPECT_EQ(followers_.settled(), 1u);
  said_[4] = 2;
  EXPECT_FALSE(look()) << "it has no vote in view 1";
  said_[3] = 1;
  EXPECT_FALSE(look());
  said_[3] = 2;
  EXPECT_TRUE(look());
  EXPECT_TRUE(earlier().empty());
  EXPECT_EQ(followers_.settled(), 2u);
}

// No majority of four is without one of the two.
TEST_F(ViewFollowersTest, HalfOfAnEvenNumberIsEnough) {
  view({1, 2, 3, 4});
  look();
  view({1, 2, 3, 4, 5});
  look();
  EXPECT_EQ(earlier(), Lists{ids({1, 2, 3, 4})});
  said_[2] = 2;
  look();
  EXPECT_TRUE(earlier().empty());
}

TEST_F(ViewFollowersTest, ViewsWithTheSameVotersAreOneList) {
  view({1, 2, 3});
  look();
  view({1, 2, 3});
  EXPECT_FALSE(look()) << "what a node is called changes nobody's vote";
  EXPECT_EQ(followers_.settled(), 1u);
  view({1, 2, 3, 4});
  look();
  EXPECT_EQ(earlier(), Lists{ids({1, 2, 3})});
  view({1, 2, 3, 4, 5});
  look();
  EXPECT_EQ(earlier(), (Lists{ids({1, 2, 3, 4}), ids({1, 2, 3})})) << "the newest first";
}

// Nodes 3, 4 and 5 have view 3 and are cut off with clients of theirs; 1 and 2 go on.
TEST_F(ViewFollowersTest, AViewWhoseMajorityIsCutOffIsNotLeftWhateverTheOthersSay) {
  view({1, 2, 3});
  view({1, 2, 3, 4});
  view({1, 2, 3, 4, 5});
  look();
  said_ = {{2, 3}, {3, 3}, {4, 3}, {5, 3}};
  look();
  EXPECT_TRUE(earlier().empty());
  view({1, 2, 3, 4, 5, 6});
  said_[2] = 4;
  said_[6] = 4;
  look();
  EXPECT_EQ(earlier(), Lists{ids({1, 2, 3, 4, 5})});
  said_[4] = 4;
  look();
  EXPECT_TRUE(earlier().empty());
}

TEST_F(ViewFollowersTest, WhatANodeSaidStaysWhenItHasLeftOrLostItsMemory) {
  view({1, 2, 3});
  look();
  view({2, 3, 1, 4});
  look();
  said_[2] = 2;
  look();
  said_[2] = 0;
  EXPECT_FALSE(look());
  EXPECT_TRUE(earlier().empty());
}

TEST_F(ViewFollowersTest, AfterARestartAllKeptViewsCountUntilTheirVotersWereHeard) {
  view({1, 2, 3});
  view({1, 2, 3, 4});
  view({1, 2, 3, 4, 5});
  ViewFollowers again;
  look(again);
  EXPECT_EQ(again.earlier_voters(), (Lists{ids({1, 2, 3, 4}), ids({1, 2, 3})}));
  said_[2] = 2;
  look(again);
  EXPECT_EQ(again.earlier_voters(), Lists{ids({1, 2, 3, 4})}) << "two of three have left view 1";
  EXPECT_EQ(again.settled(), 2u);
  said_[4] = said_[2] = 3;
  look(again);
  EXPECT_TRUE(again.earlier_voters().empty());
}

TEST_F(ViewFollowersTest, AfterARestartViewsBeforeARemovalDoNotCountAsTheyWereLeftBeforeIt) {
  view({1, 2, 3});
  view({1, 2, 3, 4});
  view({1, 2, 4});  // Node 3 was removed, so views before the second had been left.
  ViewFollowers again;
  look(again);
  EXPECT_EQ(again.earlier_voters(), Lists{ids({1, 2, 3, 4})});
  EXPECT_EQ(again.settled(), 2u);
}

TEST_F(ViewFollowersTest, AWholeClusterIsReplacedAndARestartedNodeIsNotHeldUpByThoseWhoLeft) {
  view({1, 2, 3});
  for (const std::uint32_t node : {1u, 2u, 3u}) {
    view({node, node + 1, node + 2, node + 3});
    view({node + 1, node + 2, node + 3});
  }
  ViewFollowers again;
  said_ = {{4, 7}, {5, 7}, {6, 7}};
  look(again);
  EXPECT_TRUE(again.earlier_voters().empty());
  EXPECT_EQ(again.settled(), 7u);
}

// A node that was down meets views that it has never seen; the last one that it saw is kept.
TEST_F(ViewFollowersTest, ViewsThatWereMissedDoNotHideTheOneThatWasSeenLast) {
  view({1, 2, 3});
  look();
  for (int k = 0; k < 40; ++k) {
    view({1, 2, 3, 4});
  }
  while (kept_.size() > 33) {
    kept_.erase(kept_.begin());
  }
  look();
  EXPECT_EQ(earlier(), Lists{ids({1, 2, 3})});
  EXPECT_EQ(followers_.settled(), 1u);
  said_ = {{2, 41}, {4, 41}, {3, 41}};
  look();
  EXPECT_EQ(followers_.settled(), 41u);
}

TEST_F(ViewFollowersTest, NoMoreViewsAreMadeThanARestartFindsWhileNobodyLeavesThem) {
  for (std::uint64_t k = 0; k < ViewFollowers::kUnleftMax; ++k) {
    view({1, 2, 3});
    look();
    EXPECT_FALSE(followers_.is_full()) << k;
  }
  view({1, 2, 3});
  look();
  EXPECT_TRUE(followers_.is_full());
  said_[2] = 2;  // With node 1 a majority of view 1 alone.
  look();
  EXPECT_FALSE(followers_.is_full());
}

}  // namespace
}  // namespace gcoord::server
