// What a node counts by the view besides sessions: whom it hears, and what it tells clients.
#include "server/node/node_log.h"
#include "server/peers/client_address.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::MemberRole;
using protocol::MemberState;

NodeView hears(std::uint32_t self, std::uint32_t nodes, const std::set<std::uint32_t>& heard) {
  NodeView view;
  view.node = NodeId{self};
  for (std::uint32_t id = 1; id <= nodes; ++id) {
    NodePeerView peer;
    peer.link.id = NodeId{id};
    peer.live = heard.contains(id);
    if (id != self) {
      view.peers.push_back(peer);
    }
  }
  return view;
}

// Nodes 1 to 3 vote, 4 and 5 observe, 6 has left, 7 is invited.
ClusterMembers members() {
  ClusterMembers result;
  result.view.epoch = 9;
  for (std::uint32_t id = 1; id <= 7; ++id) {
    protocol::Member node;
    node.id = NodeId{id};
    node.role = id == 4 || id == 5 ? MemberRole::Observer : MemberRole::Voter;
    node.state = id == 6   ? MemberState::Removed
                 : id == 7 ? MemberState::Joining
                           : MemberState::Active;
    if (id == 7) {
      node.invitation.emplace();
    }
    result.view.nodes.push_back(node);
  }
  return result;
}

TEST(HeardVotersTest, BeforeViewOneAllNodesCount) {
  EXPECT_TRUE(hears_majority(hears(1, 3, {2})));
  EXPECT_FALSE(hears_majority(hears(1, 5, {2})));
  EXPECT_TRUE(hears_majority(hears(1, 5, {2, 5})));
}

TEST(HeardVotersTest, ByAViewTheVotersCount) {
  EXPECT_TRUE(hears_majority(hears(1, 5, {2}), members()));
  EXPECT_FALSE(hears_majority(hears(1, 5, {4, 5}), members())) << "observers are no majority";
}

TEST(HeardVotersTest, AnObserverHearsAMajorityWhenItHearsOneOfTheVoters) {
  EXPECT_TRUE(hears_majority(hears(4, 5, {1, 3}), members()));
  EXPECT_FALSE(hears_majority(hears(4, 5, {1, 5}), members())) << "it has no vote itself";
  EXPECT_TRUE(is_ready(hears(4, 5, {2, 3}), members()));
}

TEST(HeardVotersTest, AWelcomeNamesTheNodesOfTheView) {
  protocol::Welcome welcome;
  welcome.nodes = {{NodeId{1}, "a:1"}, {NodeId{2}, "b:2"}, {NodeId{6}, "f:6"}};
  ClusterMembers known = members();
  known.view.nodes[1].client_address = "moved:2";
  known.view.nodes[3].client_address = "d:4";
  EXPECT_TRUE(set_members(welcome, known, ""));
  EXPECT_EQ(welcome.view_epoch, 9u);
  ASSERT_EQ(welcome.nodes.size(), 5u);
  EXPECT_EQ(welcome.nodes[0].address, "a:1") << "the view does not know it";
  EXPECT_EQ(welcome.nodes[1].address, "moved:2");
  EXPECT_EQ(welcome.nodes[2].address, "");
  EXPECT_EQ(welcome.nodes[3].address, "d:4");
  EXPECT_FALSE(set_members(welcome, known, "")) << "nothing new";
  known.view.epoch = 8;
  EXPECT_FALSE(set_members(welcome, known, "")) << "an earlier view";
  EXPECT_FALSE(set_members(welcome, {}, ""));
  EXPECT_EQ(welcome.nodes.size(), 5u);
}

// It has started there; the view follows, and until then nobody else knows.
TEST(HeardVotersTest, AWelcomeNamesItsOwnNodeWhereThatListens) {
  protocol::Welcome welcome;
  welcome.node = NodeId{1};
  welcome.nodes = {{NodeId{1}, "here:1"}, {NodeId{2}, "b:2"}};
  ClusterMembers known = members();
  known.view.nodes[0].client_address = "before:1";
  known.view.nodes[1].client_address = "moved:2";
  EXPECT_TRUE(set_members(welcome, known, "here:1"));
  EXPECT_EQ(welcome.nodes[0].address, "here:1");
  EXPECT_EQ(welcome.nodes[1].address, "moved:2");
  // Another node has it: that is no address of this one.
  known.view.epoch = 10;
  known.view.nodes[1].client_address = "here:1";
  EXPECT_TRUE(set_members(welcome, known, "here:1"));
  EXPECT_EQ(welcome.nodes[0].address, "before:1");
}

// Nodes 1 and 2 have taken each other's addresses, by way of a third. The view follows one change
// after the other, and in between it has both at one address.
TEST(HeardVotersTest, AWelcomeNamesItsOwnNodeAgainOnceTheViewHasNobodyElseThere) {
  protocol::Welcome welcome;
  welcome.node = NodeId{1};
  welcome.nodes = {{NodeId{1}, "second:1"}, {NodeId{2}, ""}};
  ClusterMembers known = members();
  known.view.nodes[0].client_address = "first:1";
  known.view.nodes[1].client_address = "second:1";
  EXPECT_TRUE(set_members(welcome, known, "second:1"));
  EXPECT_EQ(welcome.nodes[0].address, "first:1") << "the view has node 2 there";
  known.view.epoch = 10;
  known.view.nodes[1].client_address = "third:1";
  EXPECT_TRUE(set_members(welcome, known, "second:1"));
  EXPECT_EQ(welcome.nodes[0].address, "second:1");
  EXPECT_EQ(welcome.nodes[1].address, "third:1");
}

TEST(HeardVotersTest, OnlyClientsThatKnowOfMembersAreToldTheEpoch) {
  protocol::Welcome welcome;
  welcome.version = protocol::kProtocolVersionMax;
  welcome.features = protocol::kFeatures;
  welcome.node = NodeId{1};
  welcome.shard_count = 1;
  welcome.nodes = {{NodeId{1}, "a:1"}};
  welcome.connection = 5;
  const std::size_t without = protocol::encode(welcome).size();
  welcome.view_epoch = 9;
  const auto told = protocol::encode(welcome);
  EXPECT_EQ(told.size(), without + 8);
  EXPECT_EQ(protocol::decode_welcome(told).value().view_epoch, 9u);
  welcome.features &= ~static_cast<std::uint64_t>(protocol::Feature::Members);
  EXPECT_EQ(protocol::encode(welcome).size(), without);
}

}  // namespace
}  // namespace gcoord::server
