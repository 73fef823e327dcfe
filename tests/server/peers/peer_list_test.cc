#include "server/peers/peer_list.h"

#include "server/peers/peers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ClusterView;
using protocol::Member;
using protocol::MemberState;

Member member(std::uint32_t id, const std::string& address = {}) {
  Member member;
  member.id = NodeId{id};
  member.peer_address = address;
  return member;
}

std::vector<std::uint32_t> ids(const std::vector<netcore::PeerAddress>& peers) {
  std::vector<std::uint32_t> ids;
  for (const netcore::PeerAddress& peer : peers) {
    ids.push_back(peer.id.value);
  }
  return ids;
}

const std::vector<netcore::PeerAddress> kPeers = {{NodeId{2}, "b", 2}, {NodeId{3}, "c", 3}};

TEST(PeerList, NoViewAndAnOlderOneSayNothing) {
  PeerList list(NodeId{1}, kPeers, 5);
  EXPECT_FALSE(list.follow({}).has_value());
  ClusterView view{.epoch = 4, .settings = {}, .nodes = {member(1), member(9)}};
  EXPECT_FALSE(list.follow(view).has_value());
  view.epoch = 5;
  EXPECT_TRUE(list.follow(view).has_value());
  EXPECT_EQ(list.epoch(), 5u);
}

TEST(PeerList, NodesThatHaveComeArePeersAndInvitedOnesAreNot) {
  PeerList list(NodeId{1}, kPeers, 0);
  Member invited = member(5, "e:5");
  invited.state = MemberState::Joining;
  invited.invitation.emplace();
  ClusterView view{.epoch = 1,
                   .settings = {},
                   .nodes = {member(1, "a:1"), member(2), member(3), member(4, "d:4"), invited}};
  const auto first = list.follow(view);
  EXPECT_EQ(ids(first->added), std::vector<std::uint32_t>{4});
  EXPECT_EQ(first->added[0].host, "d");
  EXPECT_EQ(first->added[0].port, 4);
  EXPECT_TRUE(first->moved.empty() && first->removed.empty());
  view.nodes[4].invitation.reset();
  view.nodes[4].peer_address = "no address";
  const auto second = list.follow(view);
  EXPECT_EQ(ids(second->added), std::vector<std::uint32_t>{5});
  EXPECT_EQ(second->added[0].port, 0);  // It has to call.
  view.nodes[4].peer_address = "e:5";
  EXPECT_EQ(ids(list.follow(view)->moved), std::vector<std::uint32_t>{5});
}

TEST(PeerList, AnAddressOfTheOptionsHoldsUntilTheViewsChangesIt) {
  PeerList list(NodeId{1}, kPeers, 0);
  ClusterView view{.epoch = 1, .settings = {}, .nodes = {member(1), member(2, "x:2"), member(3)}};
  EXPECT_TRUE(list.follow(view)->moved.empty());
  view.nodes[1].peer_address.clear();
  view.nodes[2].peer_address = "z:3";
  EXPECT_TRUE(list.follow(view)->moved.empty());
  view.nodes[1].peer_address = "y:2";
  const auto changes = list.follow(view);
  EXPECT_EQ(ids(changes->moved), std::vector<std::uint32_t>{2});
  EXPECT_EQ(changes->moved[0].host, "y");
  EXPECT_TRUE(list.follow(view)->moved.empty());
}

TEST(PeerList, AddressesOfANodeThatWasStartedWithAViewAreThoseOfTheView) {
  PeerList list(NodeId{1}, kPeers, 1);
  const ClusterView view{
      .epoch = 2, .settings = {}, .nodes = {member(1), member(2, "x:2"), member(3, "c:3")}};
  EXPECT_EQ(ids(list.follow(view)->moved), std::vector<std::uint32_t>{2});
}

TEST(PeerList, TombstonesAreToldOnceAndHoldForNodesThatWereNoPeers) {
  PeerList list(NodeId{1}, kPeers, 0);
  ClusterView view{
      .epoch = 1, .settings = {}, .nodes = {member(1), member(2), member(3), member(4)}};
  view.nodes[2].state = MemberState::Removed;
  view.nodes[3].state = MemberState::Removed;
  const auto changes = list.follow(view);
  EXPECT_EQ(changes->removed, (std::vector<NodeId>{NodeId{3}, NodeId{4}}));
  EXPECT_FALSE(changes->removed_self);
  EXPECT_TRUE(list.follow(view)->removed.empty());
  view.nodes[0].state = MemberState::Removed;
  EXPECT_TRUE(list.follow(view)->removed_self);
}

// Whoever missed so many views does not go on with nodes that are forgotten since.
TEST(PeerList, WhoseTombstoneIsForgottenHasLeftAllTheSame) {
  PeerList list(NodeId{1}, kPeers, 0);
  ClusterView view{.epoch = 90, .settings = {}, .nodes = {member(1), member(3)}};
  EXPECT_EQ(list.follow(view)->removed, std::vector<NodeId>{NodeId{2}});
  EXPECT_TRUE(list.follow(view)->removed.empty());
  EXPECT_FALSE(list.follow(view)->removed_self);
  view.nodes = {member(4), member(5)};
  const auto changes = list.follow(view);
  EXPECT_EQ(changes->removed, std::vector<NodeId>{NodeId{3}});
  EXPECT_TRUE(changes->removed_self);
  // A view that is behind does not know of higher ids.
  PeerList joined(NodeId{9}, kPeers, 0);
  view.nodes = {member(1), member(2)};
  EXPECT_TRUE(joined.follow(view)->removed.empty());
  EXPECT_FALSE(joined.follow(view)->removed_self);
}

// Node 4 came while this node was away, and the others say so.
TEST(PeerList, WhomOthersKnowIsAPeerUntilALaterViewLacksIt) {
  PeerList list(NodeId{1}, kPeers, 5);
  list.meet(NodeId{4}, "d:4");
  list.meet(NodeId{4}, "e:5");
  list.meet(NodeId{3}, "e:5");
  list.meet(NodeId{1}, "a:1");
  list.meet(NodeId{6}, {});
  EXPECT_TRUE(list.has_met());
  const auto met = list.take_met();
  ASSERT_EQ(ids(met), (std::vector<std::uint32_t>{4, 6}));
  EXPECT_EQ(met[0].host, "d");
  EXPECT_EQ(met[0].port, 4);
  EXPECT_EQ(met[1].port, 0);
  EXPECT_FALSE(list.has_met());
  ClusterView view{.epoch = 6, .settings = {}, .nodes = {member(1), member(2), member(3)}};
  auto changes = list.follow(view);
  EXPECT_TRUE(changes->added.empty() && changes->removed.empty());
  view.epoch = 7;
  view.nodes.push_back(member(4, "d:44"));
  view.nodes.push_back(member(7, "g:7"));
  changes = list.follow(view);
  EXPECT_EQ(ids(changes->added), std::vector<std::uint32_t>{7});
  EXPECT_EQ(ids(changes->moved), std::vector<std::uint32_t>{4});
  EXPECT_EQ(changes->removed, std::vector<NodeId>{NodeId{6}});
  list.meet(NodeId{6}, "f:6");
  EXPECT_FALSE(list.has_met());
}

TEST(PeerList, NobodyMakesItKnowMorePeersThanAViewHas) {
  PeerList list(NodeId{1}, kPeers, 5);
  for (std::uint32_t id = 10; id < 1000; ++id) {
    list.meet(NodeId{id}, "d:4");
  }
  EXPECT_EQ(list.take_met().size() + kPeers.size(), PeerList::kPeersMax);
}

TEST(ReplicaPeers, RecordsStayInOrderWhileNodesComeAndGo) {
  const std::vector<netcore::PeerAddress> peers = {{NodeId{2}, "b", 2}, {NodeId{5}, "e", 5}};
  ReplicaPeers records(peers, Incarnation{1}, {}, consensus::Durability::Memory);
  MetricsRegistry registry;
  records.register_gauges(registry);
  records.on_heartbeat(NodeId{5}, {.incarnation = Incarnation{7}, .send = Tick{1}}, Tick{10});
  records.add(NodeId{3});
  records.add(NodeId{3});
  ASSERT_EQ(records.records().size(), 3u);
  EXPECT_EQ(records.records()[1].node, NodeId{3});
  EXPECT_EQ(records.records()[1].lives_by_start, 1u);
  EXPECT_EQ(records.records()[1].session, 0u);
  EXPECT_EQ(records.index_of(NodeId{5}), 2u);
  EXPECT_EQ(records.records()[2].incarnation, Incarnation{7});
  // Suspicions and gauges moved with them.
  const Tick late{400};
  EXPECT_EQ(records.phi(1, late), 0.0);
  EXPECT_GT(records.phi(2, late), 0.0);
  records.show_suspicions(late);
  const auto gauge = [&](const std::string& peer) {
    return registry.gauge({"gcoord_server_peer_phi", "", "peer", peer}).value();
  };
  EXPECT_EQ(gauge("3"), 0);
  EXPECT_GT(gauge("5"), 0);
  records.remove(NodeId{2});
  records.remove(NodeId{2});
  EXPECT_EQ(records.index_of(NodeId{2}), std::nullopt);
  EXPECT_EQ(records.index_of(NodeId{5}), 1u);
  EXPECT_GT(records.phi(1, late), 0.0);
  records.remove(NodeId{5});
  EXPECT_EQ(gauge("5"), 0);
  EXPECT_FALSE(
      records.on_heartbeat(NodeId{5}, {.incarnation = Incarnation{8}, .send = Tick{2}}, Tick{500}));
}

}  // namespace
}  // namespace gcoord::server
