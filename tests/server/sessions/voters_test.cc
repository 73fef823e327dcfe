// Whose silence ends a session while nodes come and go.
#include "server/sessions/voters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kTtl = 100;

std::vector<NodeId> ids(const std::vector<std::uint32_t>& values) {
  std::vector<NodeId> result;
  for (const std::uint32_t value : values) {
    result.push_back(NodeId{value});
  }
  return result;
}

protocol::Member member(std::uint32_t id, protocol::MemberState state) {
  protocol::Member node;
  node.id = NodeId{id};
  node.state = state;
  return node;
}

ClusterMembers members(std::uint64_t epoch,
                       const std::vector<std::uint32_t>& voters,
                       const std::vector<std::vector<std::uint32_t>>& earlier = {},
                       const std::vector<std::uint32_t>& removed = {}) {
  ClusterMembers result;
  result.view.epoch = epoch;
  for (const std::uint32_t id : voters) {
    result.view.nodes.push_back(member(id, protocol::MemberState::Active));
  }
  for (const std::uint32_t id : removed) {
    result.view.nodes.push_back(member(id, protocol::MemberState::Removed));
  }
  std::ranges::sort(result.view.nodes, {}, &protocol::Member::id);
  for (const auto& list : earlier) {
    result.earlier_voters.push_back(ids(list));
  }
  return result;
}

class ExpiryVotersTest : public testing::Test {
 protected:
  bool ends(const std::vector<std::uint32_t>& silent, std::uint64_t now = 0) const {
    std::uint64_t mask = 0;
    for (const std::uint32_t node : silent) {
      mask |= voters_.bit_of(NodeId{node});
    }
    return voters_.is_majority(mask, kTtl, Tick{now});
  }

  std::vector<NodeId> asked() const { return {voters_.others().begin(), voters_.others().end()}; }

  ExpiryVoters voters_{NodeId{1}, ids({1, 2, 3}), kTtl};
};

TEST_F(ExpiryVotersTest, BeforeViewOneItIsTheFixedList) {
  EXPECT_EQ(voters_.epoch(), 0u);
  EXPECT_EQ(asked(), ids({2, 3}));
  EXPECT_FALSE(ends({1}));
  EXPECT_TRUE(ends({1, 3}));
  EXPECT_EQ(voters_.bit_of(NodeId{4}), 0u);
}

TEST_F(ExpiryVotersTest, AGrownClusterNeedsAMajorityOfBothListsWhileSomebodyMayGoByTheOldOne) {
  voters_.set_members(members(1, {1, 2, 3}), Tick{0});
  voters_.set_members(members(2, {1, 2, 3, 4, 5}, {{1, 2, 3}}), Tick{10});
  EXPECT_EQ(asked(), ids({2, 3, 4, 5}));
  EXPECT_FALSE(ends({1, 2}, 10)) << "two of five";
  EXPECT_FALSE(ends({1, 4, 5}, 10)) << "one of the three of before";
  EXPECT_TRUE(ends({1, 2, 4}, 10));
}

TEST_F(ExpiryVotersTest, AListThatNobodyGoesByCountsForTheSessionsTtlMore) {
  voters_.set_members(members(2, {1, 2, 3, 4, 5}, {{1, 2, 3}}), Tick{10});
  voters_.set_members(members(2, {1, 2, 3, 4, 5}), Tick{50});
  EXPECT_FALSE(ends({1, 4, 5}, 50 + kTtl));
  EXPECT_TRUE(ends({1, 4, 5}, 50 + kTtl + 4));
  EXPECT_TRUE(ends({1, 2, 4}, 50));
}

TEST_F(ExpiryVotersTest, AListThatIsTheNewestOnceMoreCountsForGood) {
  voters_.set_members(members(2, {1, 2, 3, 4}, {{1, 2, 3}}), Tick{10});
  voters_.set_members(members(3, {1, 2, 3}, {{1, 2, 3, 4}}, {4}), Tick{20});
  EXPECT_FALSE(ends({1, 4}, 20));
  EXPECT_FALSE(ends({1, 2}, 20)) << "half of four";
  voters_.set_members(members(3, {1, 2, 3}, {}, {4}), Tick{30});
  EXPECT_TRUE(ends({1, 2}, 30 + kTtl + 4));
  EXPECT_EQ(asked(), ids({2, 3})) << "who has left is not asked";
}

TEST_F(ExpiryVotersTest, AShrunkClusterDoesNotEndByTheFewThatAreLeft) {
  voters_.set_members(members(1, {1, 2, 3, 4, 5}), Tick{0});
  voters_.set_members(members(2, {1, 2}, {{1, 2, 3, 4, 5}}, {3, 4, 5}), Tick{10});
  EXPECT_FALSE(ends({1, 2}, 10)) << "three others may have renewed it";
  voters_.set_members(members(2, {1, 2}, {}, {3, 4, 5}), Tick{20});
  EXPECT_FALSE(ends({1, 2}, 20 + kTtl));
  EXPECT_TRUE(ends({1, 2}, 20 + kTtl + 4));
  EXPECT_FALSE(ends({1}, 20 + kTtl + 4));
}

TEST_F(ExpiryVotersTest, AnEarlierEpochChangesNothing) {
  voters_.set_members(members(5, {1, 2, 3, 4, 5}), Tick{0});
  EXPECT_TRUE(voters_.set_members(members(4, {1}), Tick{1}));
  EXPECT_EQ(voters_.epoch(), 5u);
  EXPECT_FALSE(ends({1, 2}));
}

TEST_F(ExpiryVotersTest, ANodeKeepsItsBitWhileOthersComeAndGo) {
  const std::uint64_t bit = voters_.bit_of(NodeId{2});
  for (std::uint32_t node = 4; node <= protocol::kViewNodesMax; ++node) {
    EXPECT_TRUE(voters_.set_members(members(node, {1, 2, node}), Tick{node}));
    ASSERT_EQ(voters_.bit_of(NodeId{2}), bit);
    ASSERT_NE(voters_.bit_of(NodeId{node}), 0u);
  }
}

TEST_F(ExpiryVotersTest, HundredsOfNodesAreReplacedAndTheNewestVotersCount) {
  const std::uint64_t bit = voters_.bit_of(NodeId{2});
  constexpr std::uint32_t kLast = 400;
  for (std::uint32_t node = 4; node <= kLast; ++node) {
    voters_.set_members(members(node, {1, 2, node}, {{1, 2, node - 1}}), Tick{node});
    ASSERT_EQ(voters_.bit_of(NodeId{2}), bit);
    ASSERT_TRUE(ends({1, 2}, node)) << node;
    ASSERT_FALSE(ends({1, node}, node)) << "one of three of the view before";
  }
  // Without other voters no bit gets another meaning.
  EXPECT_TRUE(voters_.set_members(members(kLast + 1, {1, 2, kLast}), Tick{kLast + 1}));
  EXPECT_FALSE(ends({1, kLast}, kLast + 1 + kTtl));
  EXPECT_TRUE(ends({1, kLast}, kLast + 1 + kTtl + 4));
}

// More nodes than bits within one TTL: what counts for a session still is never counted short.
TEST_F(ExpiryVotersTest, AListWithoutBitsIsNoMajoritys) {
  std::vector<std::uint32_t> all;
  std::uint32_t node = 10;
  for (std::uint64_t epoch = 1; epoch <= 50; ++epoch, node += 3) {
    voters_.set_members(members(epoch, {node, node + 1, node + 2}), Tick{epoch});
    all.insert(all.end(), {node, node + 1, node + 2});
    ASSERT_NE(voters_.bit_of(NodeId{node}), 0u);
    ASSERT_NE(voters_.bit_of(NodeId{node + 1}), 0u);
    ASSERT_NE(voters_.bit_of(NodeId{node + 2}), 0u);
  }
  EXPECT_FALSE(ends(all, 50));
  EXPECT_FALSE(ends({node - 3, node - 2}, 50 + kTtl - 1));
  EXPECT_TRUE(ends({node - 3, node - 2}, 50 + kTtl + 4));
}

TEST_F(ExpiryVotersTest, ANodeWithoutAVoteIsNoMajorityOfOne) {
  ExpiryVoters observer{NodeId{9}, ids({9}), kTtl};
  observer.set_members(members(3, {1}), Tick{0});
  EXPECT_FALSE(observer.is_majority(observer.bit_of(NodeId{9}), kTtl, Tick{0}));
  EXPECT_FALSE(observer.alone());
}

}  // namespace
}  // namespace gcoord::server
