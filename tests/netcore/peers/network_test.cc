#include "netcore/peers/network.h"

#include "common/incarnation.h"
#include "common/random.h"
#include "netcore/transport/greeting.h"
#include "netcore/transport/transport_simulated.h"
#include "tests/netcore/frame_samples.h"
#include "tests/netcore/loopback_world.h"
#include "tests/netcore/network_world.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

namespace gcoord::netcore {
namespace {

TEST(PeerNetwork, EveryPairGetsExactlyOneChannel) {
  LoopbackWorld world{5};
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  world.run([] { return false; }, 3000);
  for (const TestNode& node : world.nodes) {
    EXPECT_EQ(node.sink.ups.size(), 4u);
    EXPECT_EQ(node.sink.downs.size(), 0u);
  }
}

TEST(PeerNetwork, CallsThatCrossLeaveOneChannel) {
  LoopbackWorld world{2};
  PeerNetworkOptions eager = world.options(2);
  eager.retry_min_ms = 1;  // No head start to speak of: both call at once.
  world.start(std::move(eager));
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  EXPECT_EQ(world.nodes[0].sink.ups[0].second, world.nodes[1].sink.ups[0].second);
}

TEST(PeerNetwork, DeliversSlotsWithTheirPayloads) {
  LoopbackWorld world{2};
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  const auto bytes = sample_bytes(1, 1000);
  const std::vector<PayloadExtent> extents = {{0, bytes}, {4999, bytes}};
  ASSERT_TRUE(world.nodes[0].network->send(NodeId{2}, Band::Consensus, slots(5000), extents));
  MemorySink& sink = world.nodes[1].sink;
  ASSERT_TRUE(world.run([&] { return sink.slot_count == 5000; }));
  EXPECT_EQ(sink.payload_bytes, 2000u);
  EXPECT_TRUE(same_slot(sink.last_slot, sample_slot(4)));
  EXPECT_EQ(sink.frames.size(), 2u);
}

TEST(PeerNetwork, DeliversHeartbeatsUninterpreted) {
  LoopbackWorld world{2};
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  const Heartbeat word{Incarnation{1}, Tick{10}, Tick{7}, Incarnation{3}, 5};
  world.nodes[0].network->heartbeat(NodeId{2}, word);
  MemorySink& sink = world.nodes[1].sink;
  ASSERT_TRUE(world.run([&] { return !sink.heartbeats.empty(); }));
  EXPECT_EQ(sink.heartbeats[0].second, word);
}

TEST(PeerNetwork, NothingGoesToADownOrUnknownPeer) {
  LoopbackWorld world{2};
  PeerNetwork& network = *world.nodes[0].network;
  EXPECT_FALSE(network.is_up(NodeId{2}));
  EXPECT_EQ(network.credit(NodeId{2}, Band::Rpc), 0u);
  EXPECT_FALSE(network.send(NodeId{2}, Band::Rpc, slots(1)));
  EXPECT_FALSE(network.send(NodeId{9}, Band::Rpc, slots(1)));
  network.heartbeat(NodeId{9}, {});
}

TEST(PeerNetwork, AReturnedPeerComesUpUnderAGreaterEpoch) {
  LoopbackWorld world{2};
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  for (std::uint32_t life = 2; life < 8; ++life) {
    PeerNetworkOptions next_life = world.options(2);
    next_life.incarnation = Incarnation{life};
    world.nodes[1].sink.live = 0;
    world.start(std::move(next_life));
    ASSERT_TRUE(world.run([&] { return world.nodes[0].sink.ups.size() == life; }));
  }
  const auto& ups = world.nodes[0].sink.ups;
  for (std::size_t i = 1; i < ups.size(); ++i) {
    EXPECT_GT(ups[i].second, ups[i - 1].second);
  }
  EXPECT_EQ(world.nodes[0].network->status()[0].traffic.reconnects, 6u);
}

TEST(PeerNetwork, NothingOfTheOldEpochArrivesInTheNewOne) {
  LoopbackWorld world{2};
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  ASSERT_TRUE(world.nodes[0].network->send(NodeId{2}, Band::Rpc, slots(3)));
  PeerNetworkOptions next_life = world.options(2);
  next_life.incarnation = Incarnation{2};
  world.start(std::move(next_life));
  ASSERT_TRUE(world.run([&] { return world.nodes[0].sink.ups.size() == 2; }));
  world.run([] { return false; }, 100);
  EXPECT_EQ(world.nodes[1].sink.slot_count, 0u);
}

TEST(PeerNetwork, AnotherClusterIsRefusedAndToldWhy) {
  LoopbackWorld world{2};
  PeerNetworkOptions foreign = world.options(2);
  foreign.cluster = ClusterId{43};
  world.start(std::move(foreign));
  MemorySink& sink = world.nodes[1].sink;
  ASSERT_TRUE(world.run([&] { return sink.refusal != RefusalCode::None; }));
  EXPECT_EQ(sink.refusal, RefusalCode::WrongCluster);
  EXPECT_NE(sink.refusal_text.find("cluster"), std::string::npos);
  EXPECT_EQ(world.nodes[0].sink.live, 0);
  const PeerStatus row = world.nodes[1].network->status()[0];
  EXPECT_EQ(row.state, LinkState::Refused);
  EXPECT_NE(row.last_error.find("wrong-cluster"), std::string::npos);
}

// Whoever listens where a peer was, and answers each greeting with the same frame.
struct Impostor final : LinkEvents {
  Impostor(LoopbackFabric& fabric, Greeting from) : transport(fabric.endpoint()) {
    EXPECT_TRUE(transport->listen("fabric", 2).ok());
    length = encode_refusal(from, {RefusalCode::RemovedNode, "go away", {}}, bytes);
  }

  void on_accepted(LinkId, std::string_view) override {}

  void on_connected(LinkId) override {}

  void on_message(LinkId link, std::span<const std::byte>) override {
    const std::span<const std::byte> message{bytes.data(), length};
    transport->send(link, {&message, 1});
    ++answers;
  }

  void on_closed(LinkId, DropReason, std::string_view) override {}

  std::unique_ptr<Transport> transport;
  alignas(kSlotBytes) std::array<std::byte, kStrangerBytesMax> bytes{};
  std::size_t length = 0;
  int answers = 0;
};

TEST(PeerNetwork, AStrangerAtAPeersAddressHasNoSay) {
  struct Header {
    std::uint64_t cluster;
    std::uint32_t from;
    std::uint32_t to;
    bool counts;
  };

  for (const Header& header :
       {Header{43, 2, 1, false}, {42, 9, 1, false}, {42, 2, 9, false}, {42, 2, 1, true}}) {
    LoopbackWorld world{2};
    world.nodes[1].network.reset();
    Greeting from;
    from.from.cluster = ClusterId{header.cluster};
    from.from.node = NodeId{header.from};
    from.from.incarnation = Incarnation{1};
    from.to = NodeId{header.to};
    Impostor impostor{world.fabric, from};
    TestNode& node = world.nodes[0];
    ASSERT_TRUE(world.run([&] {
      impostor.transport->progress(world.now_ms, impostor);
      return impostor.answers == 3;
    }));
    EXPECT_EQ(node.sink.refusal == RefusalCode::RemovedNode, header.counts);
    EXPECT_NE(node.network->status()[0].last_error.find("go away"), std::string::npos);
  }
}

TEST(PeerNetwork, ASecondNodeWithALiveIdIsRefusedAndTheFirstLivesOn) {
  LoopbackWorld world{3};
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  TestNode twin;
  PeerNetworkOptions options = world.options(3);
  options.directory = DirectoryId{999};
  options.incarnation = Incarnation{9};
  options.listen_port = 30;
  options.transport = world.fabric.endpoint();
  twin.network = must_create(std::move(options));
  const std::vector<TestNode*> all = {&world.nodes[0], &world.nodes[1], &world.nodes[2], &twin};
  ASSERT_TRUE(
      run_rounds(world.now_ms, all, [&] { return twin.sink.refusal != RefusalCode::None; }));
  EXPECT_EQ(twin.sink.refusal, RefusalCode::DuplicateNode);
  EXPECT_TRUE(world.all_up());
  EXPECT_EQ(world.nodes[0].sink.downs.size(), 0u);
}

TEST(PeerNetwork, AnOldCopyOfADirectoryIsRefused) {
  LoopbackWorld world{2};
  PeerNetworkOptions later = world.options(2);
  later.incarnation = Incarnation{5};
  world.start(std::move(later));
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  world.start(world.options(2));
  MemorySink& sink = world.nodes[1].sink;
  ASSERT_TRUE(world.run([&] { return sink.refusal != RefusalCode::None; }));
  EXPECT_EQ(sink.refusal, RefusalCode::OldIncarnation);
}

TEST(PeerNetwork, TheHookMayRefuseAReplacedDirectory) {
  LoopbackWorld world{2};
  PeerNetworkOptions strict = world.options(1);
  strict.admit = [](const PeerIdentity& peer) -> Admission {
    if (peer.directory == DirectoryId{2000}) {
      return {};
    }
    return {.code = RefusalCode::ReplacedDirectory,
            .text = "start node 2 with --rejoin",
            .known = incarnation_of(3, 17)};
  };
  PeerNetworkOptions emptied = world.options(2);
  emptied.directory = DirectoryId{2001};
  world.start(std::move(strict));
  world.start(std::move(emptied));
  MemorySink& sink = world.nodes[1].sink;
  ASSERT_TRUE(world.run([&] { return sink.refusal != RefusalCode::None; }));
  EXPECT_EQ(sink.refusal, RefusalCode::ReplacedDirectory);
  EXPECT_EQ(sink.refusal_text, "start node 2 with --rejoin");
  EXPECT_EQ(sink.refusal_known, incarnation_of(3, 17));
}

TEST(PeerNetwork, ASilentPeerIsGivenUpAndCalledAgain) {
  LoopbackWorld world{2};
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  MemorySink& sink = world.nodes[0].sink;
  // Node 2 hangs: its process lives, so its links stay, but it does nothing.
  const std::vector<TestNode*> only_first = {&world.nodes[0]};
  ASSERT_TRUE(run_rounds(world.now_ms, only_first, [&] { return !sink.downs.empty(); }));
  EXPECT_NE(sink.downs[0].second.find("silence"), std::string::npos);
  ASSERT_TRUE(world.run([&] { return sink.ups.size() == 2; }));
  EXPECT_GT(sink.ups[1].second, sink.ups[0].second);
}

TEST(PeerNetwork, AReceiverThatStopsHoldsTheSenderToItsBounds) {
  LoopbackWorld world{2};
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  PeerNetwork& sender = *world.nodes[0].network;
  std::uint32_t sent = 0;
  while (sender.send(NodeId{2}, Band::Rpc, slots(16))) {
    sent += 16;
    sender.flush();
  }
  EXPECT_LE(sent, 8192u);
  EXPECT_GT(sender.status()[0].traffic.unsent_bytes, 0u);
  EXPECT_GT(sender.status()[0].traffic.credit_stalls, 0u);
  EXPECT_LE(sender.status()[0].traffic.unsent_bytes, 12u << 20);
  ASSERT_TRUE(world.run([&] { return world.nodes[1].sink.slot_count == sent; }));
  ASSERT_TRUE(world.run([&] { return sender.credit(NodeId{2}, Band::Rpc) > 4000; }));
  EXPECT_EQ(sender.status()[0].traffic.unsent_bytes, 0u);
}

TEST(PeerNetwork, RegistersMetricsPerPeerAndPerReason) {
  MetricsRegistry registry;
  LoopbackWorld world{2};
  PeerNetworkOptions options = world.options(1);
  options.metrics = &registry;
  world.start(std::move(options));
  ASSERT_TRUE(world.run([&] { return world.all_up(); }));
  EXPECT_EQ(registry.gauge({"gcoord_netcore_peer_up", "", "peer", "2"}).value(), 1);
  ASSERT_TRUE(world.nodes[1].network->send(NodeId{1}, Band::Rpc, slots(1)));
  Counter& frames = registry.counter({"gcoord_netcore_frames_in_total", "", "peer", "2"});
  EXPECT_TRUE(world.run([&] { return frames.value() == 1; }));
}

TEST(PeerNetwork, OptionsThatContradictEachOtherAreRefused) {
  LoopbackFabric fabric;
  const auto code = [&fabric](PeerNetworkOptions options) {
    options.transport = fabric.endpoint();
    return PeerNetwork::create(std::move(options)).status().code();
  };
  PeerNetworkOptions twice = node_options(1, {{NodeId{2}, "a", 1}, {NodeId{2}, "b", 1}});
  EXPECT_EQ(code(std::move(twice)), StatusCode::InvalidArgument);
  PeerNetworkOptions itself = node_options(1, {{NodeId{1}, "a", 1}});
  EXPECT_EQ(code(std::move(itself)), StatusCode::InvalidArgument);
  PeerNetworkOptions ring = node_options(1, {});
  ring.ring_slots[2] = 100;
  EXPECT_EQ(code(std::move(ring)), StatusCode::InvalidArgument);
  PeerNetworkOptions cluster = node_options(1, {});
  cluster.cluster = ClusterId{0};
  EXPECT_EQ(code(std::move(cluster)), StatusCode::InvalidArgument);
}

// Two nodes over a rough network: everything may be lost, but credit and life must come back.
std::uint64_t hash_of_rough_run(std::uint64_t seed, std::size_t& arrived, int& live) {
  SimulatedNetwork network{
      seed,
      {.loss_ppm = 50'000, .duplicate_ppm = 50'000, .delay_ticks_min = 1, .delay_ticks_max = 20}};
  std::vector<TestNode> nodes(2);
  for (std::uint32_t id = 1; id <= 2; ++id) {
    PeerNetworkOptions options =
        node_options(id, {{NodeId{3 - id}, "", static_cast<std::uint16_t>(3 - id)}});
    options.ring_slots = {8, 64, 64, 64};
    options.transport = make_simulated_transport(network, NodeId{id}, 1);
    nodes[id - 1].network = must_create(std::move(options));
  }
  for (std::uint64_t now_ms = 1; now_ms < 4000; ++now_ms) {
    if (now_ms % 1000 == 300) {
      network.cut(NodeId{1}, NodeId{2});
    }
    if (now_ms % 1000 == 500) {
      network.heal_all();
    }
    for (TestNode& node : nodes) {
      const NodeId other{&node == nodes.data() ? 2u : 1u};
      node.network->progress(now_ms, node.sink);
      node.network->heartbeat(other, {.send_tick = Tick{now_ms}});
      const std::uint32_t want = 1 + random_below(random64(seed, 9, now_ms), 20);
      node.network->send(other, Band::Rpc, slots(want));
    }
  }
  arrived = nodes[0].sink.slot_count + nodes[1].sink.slot_count;
  live = nodes[0].sink.live + nodes[1].sink.live;
  return network.delivery_hash();
}

TEST(PeerNetwork, SurvivesARoughNetworkAndReplaysBitExactly) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::size_t arrived = 0;
    int live = 0;
    const std::uint64_t hash = hash_of_rough_run(seed, arrived, live);
    EXPECT_GT(arrived, 2000u) << "seed " << seed;
    EXPECT_EQ(live, 2) << "seed " << seed;
    EXPECT_EQ(hash_of_rough_run(seed, arrived, live), hash) << "seed " << seed;
  }
}

}  // namespace
}  // namespace gcoord::netcore
