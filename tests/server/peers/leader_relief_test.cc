// To whom a node with a full disk hands its shards, and when it keeps them.
#include "server/peers/leader_relief.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kShards = 30;

class LeaderReliefTest : public testing::Test {
 protected:
  LeaderReliefTest() {
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
    return result;
  }

  std::uint32_t sweep() {
    node_.leader_count = static_cast<std::uint32_t>(std::count(led_.begin(), led_.end(), true));
    return relief_.sweep(node_);
  }

  NodeView node_;
  std::vector<bool> led_ = std::vector<bool>(kShards, true);
  std::vector<bool> low_ = std::vector<bool>(4);
  std::vector<std::uint32_t> given_ = std::vector<std::uint32_t>(4);
  LeaderRelief relief_{{.view = [this](ShardId shard) { return view(shard); },
                        .transfer =
                            [this](ShardId shard, NodeId to) {
                              led_[shard.value] = false;
                              ++given_[to.value];
                            },
                        .takes = [this](NodeId peer) { return !low_[peer.value]; }}};
};

TEST_F(LeaderReliefTest, LivingPeersWithSpaceGetAllByTurns) {
  EXPECT_EQ(sweep(), kShards);
  EXPECT_EQ(given_, (std::vector<std::uint32_t>{0, 0, 15, 15}));
  EXPECT_EQ(sweep(), 0u);
}

TEST_F(LeaderReliefTest, APeerWhoseDiskIsLowOrThatIsDeadGetsNothing) {
  low_[2] = true;
  EXPECT_EQ(sweep(), kShards);
  EXPECT_EQ(given_[2], 0u);
  std::fill(led_.begin(), led_.end(), true);
  node_.peers[1].live = false;
  EXPECT_EQ(sweep(), 0u);
  EXPECT_EQ(given_[3], kShards);
}

TEST_F(LeaderReliefTest, MoreThanAFewAreHandedOverSweepBySweep) {
  constexpr std::uint32_t kMany = 3 * LeaderRelief::kTransfersMax;
  node_.shard_count = kMany;
  led_.assign(kMany, true);
  EXPECT_EQ(sweep(), LeaderRelief::kTransfersMax);
  EXPECT_EQ(sweep(), LeaderRelief::kTransfersMax);
  EXPECT_EQ(sweep(), LeaderRelief::kTransfersMax);
  EXPECT_EQ(sweep(), 0u);
}

}  // namespace
}  // namespace gcoord::server
