// Which shards a node hands over, and when it leaves things alone.
#include "server/peers/leader_balance.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kShards = 30;

class LeaderBalanceTest : public testing::Test {
 protected:
  LeaderBalanceTest() : led_(kShards, true) {
    node_.shard_count = kShards;
    node_.peers.resize(2);
    for (std::uint32_t k = 0; k < 2; ++k) {
      node_.peers[k].link.id = NodeId{k + 2};
      node_.peers[k].live = true;
    }
  }

  ShardView view(ShardId shard) const {
    ShardView result;
    result.shard = shard;
    result.role = led_[shard.value] ? consensus::Role::Leader : consensus::Role::Follower;
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
      result.configuration.node[slot] = NodeId{slot + 1};
      result.configuration.weight[slot] = 1;
    }
    result.configuration.voters = 7;
    return result;
  }

  // Transfers happen at once.
  std::uint32_t sweep() {
    node_.leader_count = static_cast<std::uint32_t>(std::count(led_.begin(), led_.end(), true));
    return balance_.sweep(node_);
  }

  std::uint32_t sweep_times(std::uint32_t count) {
    std::uint32_t transfers = 0;
    for (std::uint32_t k = 0; k < count; ++k) {
      transfers += sweep();
    }
    return transfers;
  }

  NodeView node_;
  std::vector<bool> led_;
  NodeId full_;
  std::vector<std::uint32_t> given_ = std::vector<std::uint32_t>(4);
  LeaderBalance balance_{{.view = [this](ShardId shard) { return view(shard); },
                          .transfer =
                              [this](ShardId shard, NodeId to) {
                                led_[shard.value] = false;
                                ++given_[to.value];
                              },
                          .takes = [this](NodeId peer) { return peer != full_; }}};
};

TEST_F(LeaderBalanceTest, EveryNodeGetsItsShare) {
  EXPECT_EQ(sweep_times(10), 20u);
  EXPECT_EQ(given_, (std::vector<std::uint32_t>{0, 0, 10, 10}));
}

TEST_F(LeaderBalanceTest, ABalancedNodeGivesNothing) {
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    led_[shard] = shard >= 20;
  }
  EXPECT_EQ(sweep_times(10), 0u);
}

TEST_F(LeaderBalanceTest, HandsOverMoreWhereAllWereTakenOverAndLessWhereNot) {
  constexpr std::uint32_t kMany = 1 << 20;
  constexpr std::uint32_t kFirst = membership::kTransfersFirst;
  node_.shard_count = kMany;
  led_.assign(kMany, true);
  sweep_times(LeaderBalance::kSettledSweeps);
  std::vector<std::uint32_t> sent;
  for (std::uint32_t k = 0; k < 5; ++k) {
    sent.push_back(sweep());
  }
  EXPECT_EQ(sent,
            (std::vector<std::uint32_t>{
                kFirst, 2 * kFirst, 4 * kFirst, 8 * kFirst, membership::kTransfersMost}));
  // Nobody takes any more.
  EXPECT_EQ(balance_.sweep(node_), membership::kTransfersMost / 2);
  EXPECT_EQ(balance_.sweep(node_), membership::kTransfersMost / 4);
}

TEST_F(LeaderBalanceTest, APeerThatIsToHaveNoMoreGetsNothing) {
  full_ = NodeId{3};
  EXPECT_EQ(sweep_times(10), 10u);
  EXPECT_EQ(given_[3], 0u);
}

TEST_F(LeaderBalanceTest, ADeadPeerGetsNothing) {
  node_.peers[1].live = false;
  EXPECT_EQ(sweep_times(10), 10u);
  EXPECT_EQ(given_[3], 0u);
}

TEST_F(LeaderBalanceTest, APeerThatHasJustReturnedWaits) {
  node_.peers[1].live = false;
  sweep_times(10);
  node_.peers[1].live = true;
  EXPECT_EQ(sweep_times(LeaderBalance::kSettledSweeps - 1), 0u);
  EXPECT_EQ(sweep(), 10u);
}

// Whoever hands everything over because it is leaving must not get it back.
TEST_F(LeaderBalanceTest, NothingMovesWhileTheOwnShareRises) {
  std::fill(led_.begin(), led_.end(), false);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    led_[shard] = true;
    EXPECT_EQ(sweep(), 0u);
  }
  EXPECT_EQ(sweep_times(LeaderBalance::kSettledSweeps - 1), 0u);
  EXPECT_GT(sweep(), 0u);
}

}  // namespace
}  // namespace gcoord::server
