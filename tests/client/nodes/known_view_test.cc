// What a client counts by, as it learns of views.
#include "client/nodes/known_view.h"

#include "client/nodes/view_fetch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::MemberState;

std::vector<NodeId> ids(const std::vector<std::uint32_t>& values) {
  std::vector<NodeId> result;
  for (const std::uint32_t value : values) {
    result.push_back(NodeId{value});
  }
  return result;
}

protocol::ViewAnswer answer(std::uint64_t epoch,
                            const std::vector<std::uint32_t>& voters,
                            std::uint64_t settled,
                            const std::vector<std::vector<NodeId>>& earlier = {}) {
  protocol::ViewAnswer result;
  result.view.epoch = result.newest = epoch;
  for (std::uint32_t id = 1; id <= 8; ++id) {
    protocol::Member node;
    node.id = NodeId{id};
    node.state =
        std::ranges::find(voters, id) != voters.end() ? MemberState::Active : MemberState::Removed;
    result.view.nodes.push_back(node);
  }
  result.settled = settled;
  result.earlier_voters = earlier;
  return result;
}

protocol::Welcome welcome_of(const std::vector<std::uint32_t>& nodes) {
  protocol::Welcome welcome;
  for (const std::uint32_t node : nodes) {
    welcome.nodes.push_back({NodeId{node}, ""});
  }
  return welcome;
}

class KnownViewTest : public testing::Test {
 protected:
  const std::vector<std::vector<NodeId>>& lists() const { return known_.voters().lists; }

  KnownView known_;
};

TEST_F(KnownViewTest, BeforeAnythingIsKnownNothingIsAMajority) {
  EXPECT_FALSE(known_.voters().is_majority(ids({1, 2, 3})));
  EXPECT_FALSE(known_.voters().reached({}).has_value());
}

TEST_F(KnownViewTest, AClusterWithoutViewsCountsByItsWelcome) {
  known_.begin(welcome_of({1, 2, 3}));
  EXPECT_TRUE(known_.voters().is_majority(ids({1, 3})));
  EXPECT_FALSE(known_.voters().is_majority(ids({3})));
  EXPECT_TRUE(known_.counts(0, true));
  EXPECT_TRUE(known_.counts(0, false));
  EXPECT_FALSE(known_.behind());
}

TEST_F(KnownViewTest, WhatANodeWithANewerViewAcknowledgesCountsOnceTheViewIsKnown) {
  known_.begin(welcome_of({1, 2, 3}));
  known_.hear(4);
  EXPECT_TRUE(known_.behind());
  EXPECT_FALSE(known_.counts(4, true));
  EXPECT_TRUE(known_.take(answer(4, {1, 2, 3, 4, 5}, 4)));
  EXPECT_FALSE(known_.behind());
  EXPECT_TRUE(known_.counts(4, true));
  EXPECT_TRUE(known_.counts(3, true));
  EXPECT_FALSE(known_.counts(5, true));
  EXPECT_EQ(lists(), std::vector<std::vector<NodeId>>{ids({1, 2, 3, 4, 5})});
}

TEST_F(KnownViewTest, ANodeThatHasLostItsViewsDoesNotCountAndOneOfAnEarlierReleaseDoes) {
  known_.take(answer(4, {1, 2, 3}, 4));
  EXPECT_FALSE(known_.counts(0, true));
  EXPECT_TRUE(known_.counts(0, false));
}

TEST_F(KnownViewTest, EarlierListsCountUntilANodeSaysThatTheyAreLeft) {
  known_.take(answer(4, {1, 2, 3, 4, 5}, 2, {ids({1, 2, 3})}));
  EXPECT_EQ(lists(), (std::vector{ids({1, 2, 3, 4, 5}), ids({1, 2, 3})}));
  EXPECT_TRUE(known_.has_earlier());
  EXPECT_FALSE(known_.take(answer(4, {1, 2, 3, 4, 5}, 2, {ids({1, 2, 3})}))) << "it is known";
  EXPECT_FALSE(known_.take(answer(4, {1, 2, 3, 4, 5}, 0))) << "it says nothing of that";
  EXPECT_FALSE(known_.take(answer(3, {1, 2, 3}, 3))) << "an earlier view";
  EXPECT_TRUE(known_.take(answer(4, {1, 2, 3, 4, 5}, 4)));
  EXPECT_FALSE(known_.has_earlier());
}

TEST_F(KnownViewTest, OfANodeThatDoesNotSayWhatIsLeftNothingIs) {
  known_.begin(welcome_of({1, 2, 3}));
  EXPECT_TRUE(known_.take(answer(4, {1, 2, 3, 4}, 0)));
  EXPECT_EQ(lists(), (std::vector{ids({1, 2, 3, 4}), ids({1, 2, 3})}));
}

TEST_F(KnownViewTest, KnowsWhoHasLeft) {
  known_.take(answer(4, {1, 2, 3}, 4));
  EXPECT_TRUE(known_.has_left(NodeId{4}));
  EXPECT_FALSE(known_.has_left(NodeId{3}));
  EXPECT_FALSE(known_.has_left(NodeId{9})) << "it may have come later";
  EXPECT_FALSE(known_.has_left(NodeId{}));
}

TEST_F(KnownViewTest, AViewWithoutVotersIsNone) {
  EXPECT_FALSE(known_.take(answer(4, {}, 4)));
  EXPECT_EQ(known_.epoch(), 0u);
}

TEST_F(KnownViewTest, TheViewIsAskedForWhenItIsBehindAndNowAndThenWhileEarlierListsCount) {
  ViewFetch fetch{1s};
  known_.begin(welcome_of({1, 2, 3}));
  EXPECT_EQ(fetch.next_event(known_), kTimeNever);
  known_.hear(4);
  EXPECT_TRUE(fetch.due(known_, 10s));
  const auto question = fetch.ask(NodeId{2}, 10s);
  EXPECT_FALSE(fetch.due(known_, 10s + 999ms));
  EXPECT_TRUE(fetch.due(known_, 11s)) << "another node is asked";
  protocol::ReplySlot reply = protocol::reply_to(question);
  EXPECT_FALSE(fetch.take(NodeId{1}, reply, 10s + 1ms)) << "it was not asked";
  EXPECT_TRUE(fetch.take(NodeId{2}, reply, 10s + 1ms));
  EXPECT_FALSE(fetch.take(NodeId{2}, reply, 10s + 1ms));
  EXPECT_TRUE(fetch.due(known_, 10s + 51ms)) << "the node was behind";
  known_.take(answer(4, {1, 2, 3, 4, 5}, 2, {ids({1, 2, 3})}));
  EXPECT_FALSE(fetch.due(known_, 10s + 500ms));
  EXPECT_TRUE(fetch.due(known_, 10s + 501ms));
  known_.take(answer(4, {1, 2, 3, 4, 5}, 4));
  EXPECT_EQ(fetch.next_event(known_), kTimeNever);
}

}  // namespace
}  // namespace gcoord::client
