// Peers of a network that come, move and go while it runs.
#include "netcore/peers/network.h"
#include "tests/netcore/loopback_world.h"

#include <gtest/gtest.h>

#include <utility>

namespace gcoord::netcore {
namespace {

// Node 3 is a stranger to nodes 1 and 2, who begin as a pair.
struct GrowingWorld : LoopbackWorld {
  GrowingWorld() : LoopbackWorld(2) { nodes.resize(3); }

  PeerAddress address(std::uint32_t id) const {
    return {NodeId{id}, "fabric", static_cast<std::uint16_t>(id)};
  }

  void add_third() {
    start(options(3));
    for (const std::uint32_t id : {1u, 2u}) {
      ASSERT_TRUE(nodes[id - 1].network->add_peer(address(3)).ok());
    }
  }
};

TEST(ChangingPeers, APeerThatIsAddedIsCalledAndTheOthersDoNotNotice) {
  GrowingWorld world;
  ASSERT_TRUE(world.run([&] { return world.up(1, 2) && world.up(2, 1); }));
  world.add_third();
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  EXPECT_EQ(world.nodes[0].sink.downs.size(), 0u);
  ASSERT_TRUE(world.nodes[2].network->send(NodeId{1}, Band::Rpc, slots(5)));
  MemorySink& sink = world.nodes[0].sink;
  ASSERT_TRUE(world.run([&] { return sink.slot_count == 5; }));
  EXPECT_EQ(world.nodes[0].network->status().size(), 2u);
}

TEST(ChangingPeers, NobodyIsAddedTwiceAndNoIdThatNoPeerCanHave) {
  GrowingWorld world;
  PeerNetwork& network = *world.nodes[0].network;
  for (const std::uint32_t id : {0u, 1u, 2u, 65536u}) {
    EXPECT_EQ(network.add_peer(world.address(id)).code(), StatusCode::InvalidArgument) << id;
  }
  network.remove_peer(NodeId{3});
  EXPECT_EQ(network.add_peer(world.address(3)).code(), StatusCode::InvalidArgument);
}

TEST(ChangingPeers, ARemovedPeerIsGoneAndItsGreetingsAreRefused) {
  GrowingWorld world;
  world.add_third();
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  for (const std::uint32_t id : {1u, 2u}) {
    PeerNetwork& network = *world.nodes[id - 1].network;
    network.remove_peer(NodeId{3});
    EXPECT_FALSE(network.is_up(NodeId{3}));
    EXPECT_FALSE(network.send(NodeId{3}, Band::Rpc, slots(1)));
    EXPECT_EQ(network.status().size(), 1u);
  }
  MemorySink& sink = world.nodes[2].sink;
  ASSERT_TRUE(world.run([&] { return sink.refusal == RefusalCode::RemovedNode; }));
  EXPECT_NE(sink.refusal_text.find("node 3 was removed from the cluster"), std::string::npos)
      << sink.refusal_text;
  EXPECT_EQ(sink.live, 0);
  EXPECT_EQ(world.nodes[0].sink.downs.size(), 0u);  // The caller knows.
  EXPECT_TRUE(world.up(1, 2));
  // A new start of it does not get in either; whoever never was a peer is a stranger as before.
  sink.refusal = RefusalCode::None;
  world.start(world.options(3));
  ASSERT_TRUE(world.run([&] { return sink.refusal == RefusalCode::RemovedNode; }));
}

TEST(ChangingPeers, TombstonesOfTheOptionsAreRefusedToo) {
  GrowingWorld world;
  PeerNetworkOptions knows = world.options(1);
  knows.peers.pop_back();
  knows.removed = {NodeId{3}};
  world.start(std::move(knows));
  world.start(world.options(3));
  const auto error = [&](std::size_t peer) {
    return world.nodes[2].network->status()[peer].last_error;
  };
  ASSERT_TRUE(world.run([&] {
    return error(0).starts_with("removed-node: ") && error(1).starts_with("unknown-node: ");
  }));
  PeerNetworkOptions wrong = world.options(1);
  wrong.removed = {NodeId{2}};
  wrong.transport = world.fabric.endpoint();
  EXPECT_FALSE(PeerNetwork::create(std::move(wrong)).ok());
}

// Has the node remove every peer that it gets a frame of or loses, while its network is at work.
void remove_from_within(TestNode& node) {
  PeerNetwork* network = node.network.get();
  node.sink.at_frame = [network](NodeId peer) { network->remove_peer(peer); };
  node.sink.at_down = node.sink.at_frame;
}

TEST(ChangingPeers, PeersMayBeRemovedFromWithinProgress) {
  LoopbackWorld world{3};
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  TestNode& first = world.nodes[0];
  remove_from_within(first);
  ASSERT_TRUE(world.nodes[1].network->send(NodeId{1}, Band::Rpc, slots(3)));
  ASSERT_TRUE(world.nodes[1].network->send(NodeId{1}, Band::Rpc, slots(3)));
  world.nodes[2].network.reset();
  ASSERT_TRUE(world.run([&] { return first.network->status().empty(); }));
  EXPECT_GE(first.sink.slot_count, 3u);
  ASSERT_EQ(first.sink.downs.size(), 1u);
  EXPECT_EQ(first.sink.downs[0].first, NodeId{3});
  MemorySink& second = world.nodes[1].sink;
  ASSERT_TRUE(world.run([&] { return second.refusal == RefusalCode::RemovedNode; }));
}

// A peer that calls again while its channel still lives here is removed by whoever hears of that.
TEST(ChangingPeers, APeerRemovedByTheEndOfItsOldChannelGetsNoNewOne) {
  LoopbackWorld world{2};
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  PeerNetworkOptions again = world.options(2);
  again.incarnation = Incarnation{2};
  again.directory = DirectoryId{2000};
  TestNode& first = world.nodes[0];
  remove_from_within(first);
  world.start(std::move(again));
  MemorySink& second = world.nodes[1].sink;
  ASSERT_TRUE(world.run([&] { return second.refusal == RefusalCode::RemovedNode; }));
  EXPECT_TRUE(first.network->status().empty());
}

TEST(ChangingPeers, APeerThatMovedIsCalledWhereItIsNow) {
  LoopbackWorld world{2};
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  const PeerAddress moved{NodeId{1}, "fabric", 77};
  PeerNetwork& second = *world.nodes[1].network;
  second.set_address(moved);
  second.set_address({NodeId{9}, "fabric", 9});
  world.run([] { return false; }, 2000);
  EXPECT_TRUE(second.is_up(NodeId{1}));  // What lives goes on.
  EXPECT_EQ(world.nodes[1].sink.downs.size(), 0u);
  PeerNetworkOptions there = world.options(1);
  there.listen_port = 77;
  there.incarnation = Incarnation{2};
  there.peers[0].port = 0;  // It waits to be called.
  world.nodes[0].sink = {};
  world.start(std::move(there));
  ASSERT_TRUE(world.run([&] { return world.up(2, 1) && world.up(1, 2); }));
  EXPECT_EQ(second.status()[0].address, "fabric:77");
}

}  // namespace
}  // namespace gcoord::netcore
