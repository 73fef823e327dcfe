// What all nodes have: nothing before all said so, and not what an older life said.
#include "server/peers/node_features.h"

#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

constexpr auto kEnds = protocol::Feature::SessionEnds;

class NodeFeaturesTest : public testing::Test {
 protected:
  static NodeFeaturesOptions options(std::uint32_t node,
                                     std::uint64_t features = protocol::kFeatures) {
    return {NodeId{node}, {NodeId{1}, NodeId{2}, NodeId{3}}, 10, features};
  }

  // What a node of this life says.
  static std::vector<std::byte> said_by(const NodeFeaturesOptions& options,
                                        std::uint32_t incarnation) {
    NodeFeatures features{options};
    FakeEngine engine;
    features.start(engine, Incarnation{incarnation});
    features.on_tick(Tick{1});
    EXPECT_EQ(engine.features_said.size(), options.nodes.size() - 1);
    return engine.features_said.front().second;
  }

  // The peer's present life, as the engine knows it.
  void greeted_by(std::uint32_t node, std::uint32_t incarnation) {
    std::erase_if(engine_.node.peers,
                  [node](const NodePeerView& each) { return each.link.id == NodeId{node}; });
    NodePeerView peer;
    peer.link.id = NodeId{node};
    peer.link.incarnation = Incarnation{incarnation};
    engine_.node.peers.push_back(peer);
  }

  void SetUp() override { features_.start(engine_, Incarnation{7}); }

  FakeEngine engine_;
  NodeFeatures features_{options(1)};
};

TEST_F(NodeFeaturesTest, AloneANodeHasWhatItHas) {
  NodeFeatures alone{{.node = NodeId{1}, .nodes = {NodeId{1}}}};
  alone.start(engine_, Incarnation{1});
  alone.on_tick(Tick{1});
  EXPECT_TRUE(alone.all_have(kEnds));
  EXPECT_TRUE(engine_.features_said.empty());
}

TEST_F(NodeFeaturesTest, ANodeThatCameHoldsAFeatureBackUntilItSaidSoAndOneThatLeftDoesNot) {
  features_.on_tick(Tick{1});
  features_.on_message(NodeId{2}, said_by(options(2), 3));
  features_.on_message(NodeId{3}, said_by(options(3), 4));
  ASSERT_TRUE(features_.all_have(kEnds));
  const std::vector<NodeId> four{NodeId{1}, NodeId{2}, NodeId{3}, NodeId{4}};
  features_.set_nodes(four);
  EXPECT_FALSE(features_.all_have(kEnds));
  NodeFeaturesOptions fourth = options(4);
  fourth.nodes = four;
  features_.on_message(NodeId{4}, said_by(fourth, 1));
  EXPECT_TRUE(features_.all_have(kEnds)) << "what the others said is known";
  features_.on_message(NodeId{3}, said_by(options(3, 1), 5));
  EXPECT_FALSE(features_.all_have(kEnds));
  const std::vector<NodeId> left{NodeId{1}, NodeId{2}, NodeId{4}};
  features_.set_nodes(left);
  EXPECT_TRUE(features_.all_have(kEnds));
  EXPECT_FALSE(features_.on_message(NodeId{3}, said_by(options(3), 6)));
  engine_.features_said.clear();
  features_.on_tick(Tick{1000});
  EXPECT_EQ(engine_.features_said.size(), 2u) << "who left is told nothing";
}

TEST_F(NodeFeaturesTest, AFeatureIsEverybodysOnceAllSaidSo) {
  features_.on_tick(Tick{1});
  EXPECT_FALSE(features_.all_have(kEnds));
  EXPECT_TRUE(features_.on_message(NodeId{2}, said_by(options(2), 3)));
  EXPECT_FALSE(features_.all_have(kEnds)) << "node 3 was not heard";
  EXPECT_TRUE(features_.on_message(NodeId{3}, said_by(options(3), 4)));
  EXPECT_TRUE(features_.all_have(kEnds));
}

TEST_F(NodeFeaturesTest, ANodeWithoutAFeatureKeepsItFromAll) {
  const std::uint64_t less = protocol::kFeatures & ~static_cast<std::uint64_t>(kEnds);
  features_.on_message(NodeId{2}, said_by(options(2), 3));
  features_.on_message(NodeId{3}, said_by(options(3, less), 4));
  EXPECT_FALSE(features_.all_have(kEnds));
  EXPECT_TRUE(features_.all_have(protocol::Feature::LockMoves));
}

TEST_F(NodeFeaturesTest, WhatALifeSaidIsForgottenWhenAnotherHasGreeted) {
  greeted_by(2, 3);
  greeted_by(3, 4);
  features_.on_message(NodeId{2}, said_by(options(2), 3));
  features_.on_message(NodeId{3}, said_by(options(3), 4));
  features_.on_tick(Tick{1});
  EXPECT_TRUE(features_.all_have(kEnds));
  greeted_by(3, 5);  // With an older release, which says nothing.
  features_.on_tick(Tick{200});
  EXPECT_FALSE(features_.all_have(kEnds));
  features_.on_message(NodeId{3}, said_by(options(3), 5));
  EXPECT_TRUE(features_.all_have(kEnds));
}

TEST_F(NodeFeaturesTest, ItIsSaidAboutOnceASecond) {
  for (std::uint64_t tick = 1; tick <= 250; ++tick) {
    features_.on_tick(Tick{tick});
  }
  EXPECT_EQ(engine_.features_said.size(), 3u * 2u);
}

TEST_F(NodeFeaturesTest, HostileMessagesChangeNothing) {
  features_.on_message(NodeId{2}, said_by(options(2), 3));
  const auto said = said_by(options(3), 4);
  for (std::size_t bytes = 0; bytes < said.size(); ++bytes) {
    EXPECT_FALSE(features_.on_message(NodeId{3}, std::span(said).first(bytes)));
  }
  EXPECT_FALSE(features_.on_message(NodeId{9}, said)) << "no node of the cluster";
  EXPECT_FALSE(features_.on_message(NodeId{1}, said)) << "this node itself";
  std::vector<std::byte> nobody = said;
  std::fill(nobody.begin() + 4, nobody.begin() + 8, std::byte{0});
  EXPECT_FALSE(features_.on_message(NodeId{3}, nobody)) << "without a life";
  EXPECT_FALSE(features_.all_have(kEnds));
}

TEST_F(NodeFeaturesTest, WordsTravelBehindTheFeaturesAndEarlierReleasesNeedNone) {
  const std::vector<std::byte> words(40, std::byte{9});
  features_.set_words({.say = [&] { return words; }, .hear = {}});
  features_.on_tick(Tick{1});
  NodeFeatures other{options(2)};
  FakeEngine engine;
  other.start(engine, Incarnation{3});
  std::vector<std::byte> heard;
  int times = 0;
  other.set_words({.say = {}, .hear = [&](NodeId from, Incarnation life, auto said) {
                     EXPECT_EQ(from, NodeId{1});
                     EXPECT_NE(life.value, 0u);
                     heard.assign(said.begin(), said.end());
                     ++times;
                   }});
  EXPECT_TRUE(other.on_message(NodeId{1}, engine_.features_said.front().second));
  EXPECT_EQ(heard, words);
  // A node that says none, as earlier releases do.
  EXPECT_TRUE(other.on_message(NodeId{1}, said_by(options(1), 8)));
  EXPECT_TRUE(heard.empty());
  EXPECT_EQ(times, 2);
}

TEST_F(NodeFeaturesTest, ALowDiskIsSaidUntilItIsNotOrAnotherLifeHasGreeted) {
  greeted_by(2, 3);
  NodeFeaturesOptions low = options(2);
  low.disk_is_low = [] { return true; };
  EXPECT_FALSE(features_.disk_is_low(NodeId{2}));
  EXPECT_TRUE(features_.on_message(NodeId{2}, said_by(low, 3)));
  EXPECT_TRUE(features_.disk_is_low(NodeId{2}));
  EXPECT_FALSE(features_.disk_is_low(NodeId{3}));
  EXPECT_TRUE(features_.on_message(NodeId{2}, said_by(options(2), 3)));
  EXPECT_FALSE(features_.disk_is_low(NodeId{2}));
  EXPECT_TRUE(features_.on_message(NodeId{2}, said_by(low, 3)));
  greeted_by(2, 4);
  features_.on_tick(Tick{200});
  EXPECT_FALSE(features_.disk_is_low(NodeId{2}));
}

TEST_F(NodeFeaturesTest, ADrainIsSaidBesideALowDiskUntilItIsOver) {
  greeted_by(2, 3);
  NodeFeaturesOptions drains = options(2);
  drains.drains = [] { return true; };
  EXPECT_TRUE(features_.on_message(NodeId{2}, said_by(drains, 3)));
  EXPECT_TRUE(features_.drains(NodeId{2}));
  EXPECT_FALSE(features_.disk_is_low(NodeId{2}));
  drains.disk_is_low = [] { return true; };
  EXPECT_TRUE(features_.on_message(NodeId{2}, said_by(drains, 3)));
  EXPECT_TRUE(features_.drains(NodeId{2}));
  EXPECT_TRUE(features_.disk_is_low(NodeId{2}));
  EXPECT_TRUE(features_.on_message(NodeId{2}, said_by(options(2), 3)));
  EXPECT_FALSE(features_.drains(NodeId{2}));
  EXPECT_TRUE(features_.on_message(NodeId{2}, said_by(drains, 3)));
  greeted_by(2, 4);
  features_.on_tick(Tick{200});
  EXPECT_FALSE(features_.drains(NodeId{2})) << "another life";
}

}  // namespace
}  // namespace gcoord::server
