// Failure detection of running nodes: datagrams on loopback, channels and views of a test.
#include "server/detector/node_detector.h"

#include "server/detector/datagram_socket.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using membership::Verdict;

constexpr ClusterId kCluster{42};

// A log whose channels the test sets.
class QuietLog final : public ReplicatedLog {
 public:
  void propose(ShardId, const ProposedCommand&, std::uint64_t) override {}

  void read(ShardId, std::uint64_t) override {}

  ShardView view(ShardId) const override {
    ShardView shard;
    shard.role = leads ? consensus::Role::Leader : consensus::Role::Follower;
    shard.leader = NodeId{1};
    return shard;
  }

  NodeView view() const override { return node; }

  bool send_peer_message(NodeId, std::span<const std::byte>) override { return false; }

  std::uint16_t listen_port() const override { return port; }

  bool leads = false;
  std::uint16_t port = 0;
  NodeView node;
};

// Node `id` of a view of three, with a socket of its own.
struct TestNode {
  TestNode(std::uint32_t id, std::uint16_t port) : self(id) {
    log.port = port;
    log.leads = id == 1;
  }

  void open() {
    detector = std::make_unique<NodeDetector>(
        NodeDetectorOptions{.self = NodeId{self},
                            .cluster = kCluster,
                            .listen_host = "127.0.0.1",
                            .peers = {},
                            .evidence = {},
                            .probe_interval_ms = 20,
                            .alarms = {}},
        NodeDetector::Environment{
            .log = log,
            .metrics = metrics,
            .view = [this]() -> const protocol::ClusterView& { return view; },
            .propose_suspect = [this](NodeId node,
                                      bool suspect) { proposals.emplace_back(node, suspect); },
            .wall_ms = [] { return std::uint64_t{1'700'000'000'000}; }});
  }

  Verdict verdict(std::uint32_t of) const {
    for (const membership::NodeSight& each : detector->sights()) {
      if (each.node == NodeId{of}) {
        return each.verdict;
      }
    }
    return Verdict::Alive;
  }

  std::uint64_t dropped(const std::string& reason) {
    return metrics.counter({"gcoord_detector_datagrams_dropped_total", "", "reason", reason})
        .value();
  }

  std::uint32_t self;
  QuietLog log;
  MetricsRegistry metrics;
  protocol::ClusterView view;
  std::vector<std::pair<NodeId, bool>> proposals;
  std::unique_ptr<NodeDetector> detector;
};

class NodeDetectors : public testing::Test {
 protected:
  NodeDetectors() {
    // Ports that are free now.
    std::vector<std::unique_ptr<DatagramSocket>> held;
    for (std::uint32_t id = 1; id <= 3; ++id) {
      held.push_back(std::move(DatagramSocket::open("127.0.0.1", 0)).value());
      nodes.push_back(std::make_unique<TestNode>(id, held.back()->port()));
    }
    held.clear();
    protocol::ClusterView view{.epoch = 1, .settings = {}, .nodes = {}};
    for (std::uint32_t id = 1; id <= 3; ++id) {
      protocol::Member member;
      member.id = NodeId{id};
      member.peer_address = "127.0.0.1:" + std::to_string(node(id).log.port);
      view.nodes.push_back(member);
    }
    for (const auto& each : nodes) {
      each->view = view;
      each->open();
    }
  }

  TestNode& node(std::uint32_t id) { return *nodes[id - 1]; }

  // Time goes on by `ms`; datagrams travel in between.
  void run(std::uint64_t ms) {
    for (const std::uint64_t end = now_ms + ms; now_ms < end; now_ms += 10) {
      for (const auto& each : nodes) {
        if (each->detector != nullptr) {
          each->detector->advance(now_ms);
        }
      }
      ::poll(nullptr, 0, 1);
    }
  }

  std::vector<std::unique_ptr<TestNode>> nodes;
  std::uint64_t now_ms = 1000;
};

TEST_F(NodeDetectors, Row115HoldEachOtherForAliveByDatagramsAlone) {
  run(5000);
  for (std::uint32_t by = 1; by <= 3; ++by) {
    for (std::uint32_t of = 1; of <= 3; ++of) {
      EXPECT_EQ(node(by).verdict(of), Verdict::Alive) << by << " about " << of;
    }
    EXPECT_EQ(node(by).dropped("malformed") + node(by).dropped("foreign"), 0u);
  }
  EXPECT_TRUE(node(1).proposals.empty());
}

TEST_F(NodeDetectors, TheLeaderProposesANodeWhoseProcessIsGone) {
  run(1000);
  node(3).detector.reset();
  run(300);
  EXPECT_EQ(node(1).verdict(3), Verdict::Suspect);
  EXPECT_EQ(node(2).verdict(3), Verdict::Suspect);
  ASSERT_FALSE(node(1).proposals.empty());
  EXPECT_EQ(node(1).proposals.front(), std::make_pair(NodeId{3}, true));
  EXPECT_TRUE(node(2).proposals.empty()) << "it does not lead";
  node(1).view.nodes[2].suspect = true;
  node(1).proposals.clear();
  node(3).open();
  run(2000);
  ASSERT_FALSE(node(1).proposals.empty()) << "it is back";
  EXPECT_EQ(node(1).proposals.front(), std::make_pair(NodeId{3}, false));
}

TEST_F(NodeDetectors, WhatIsNoMessageOfANodeIsCountedAndGetsNoAnswer) {
  const auto stranger = std::move(DatagramSocket::open("127.0.0.1", 0)).value();
  netcore::SocketAddress to;
  ASSERT_TRUE(netcore::parse_numeric_address("127.0.0.1", node(1).log.port, to));
  membership::DetectorMessage ping{
      .from = NodeId{9}, .to = NodeId{1}, .incarnation = Incarnation{1}, .about = {}};
  stranger->send(to, std::vector<std::byte>(60));
  stranger->send(to, std::vector<std::byte>(2000));
  stranger->send(to, membership::encode_message(ping, ClusterId{43}));
  stranger->send(to, membership::encode_message(ping, kCluster));
  run(500);
  EXPECT_EQ(node(1).dropped("malformed"), 2u);
  EXPECT_EQ(node(1).dropped("foreign"), 1u);
  EXPECT_EQ(node(1).dropped("stranger"), 1u);
  int answers = 0;
  stranger->receive(
      100,
      [&](const netcore::SocketAddress&, std::span<const std::byte>) { ++answers; },
      [](const netcore::SocketAddress&) {});
  EXPECT_EQ(answers, 0);
}

// Who knows the cluster's id and the life of a node that is gone kept it from being marked.
TEST_F(NodeDetectors, NobodyWithoutTheSecretKeepsANodeAlive) {
  const auto secret = security::ClusterSecret::generate();
  for (const auto& each : nodes) {
    each->detector->set_keys(datagram_keys(kCluster, &secret, true));
  }
  run(5000);
  EXPECT_EQ(node(1).verdict(3), Verdict::Alive);
  EXPECT_EQ(node(1).dropped("malformed"), 0u);
  node(3).detector.reset();
  const auto forger = std::move(DatagramSocket::open("127.0.0.1", node(3).log.port)).value();
  const membership::DetectorMessage forged{
      .from = NodeId{3}, .to = NodeId{1}, .incarnation = Incarnation{1}, .about = {}};
  netcore::SocketAddress to;
  ASSERT_TRUE(netcore::parse_numeric_address("127.0.0.1", node(1).log.port, to));
  for (int k = 0; k < 60 && node(1).proposals.empty(); ++k) {
    forger->send(to, membership::encode_message(forged, kCluster));
    run(100);
  }
  EXPECT_EQ(node(1).verdict(3), Verdict::Suspect);
  EXPECT_FALSE(node(1).proposals.empty());
  EXPECT_GT(node(1).dropped("malformed"), 0u);
}

TEST_F(NodeDetectors, NodesWithOlderAndNewerKeysHearEachOther) {
  const auto before = security::ClusterSecret::generate();
  const auto after = before.rotated();
  node(1).detector->set_keys(datagram_keys(kCluster, &after, true));
  node(2).detector->set_keys(datagram_keys(kCluster, &before, true));
  node(3).detector->set_keys(datagram_keys(kCluster, &after, false));
  run(5000);
  for (std::uint32_t by = 1; by <= 3; ++by) {
    for (std::uint32_t of = 1; of <= 3; ++of) {
      EXPECT_EQ(node(by).verdict(of), Verdict::Alive) << by << " about " << of;
    }
  }
  node(1).detector->set_keys(datagram_keys(kCluster, nullptr, false));
  node(2).detector.reset();
  run(5000);
  EXPECT_EQ(node(1).verdict(3), Verdict::Alive) << "it is permissive, and has the cluster's id";
  EXPECT_EQ(node(3).verdict(1), Verdict::Alive);
}

TEST(DatagramKeys, AnswersByTheKeyThatWasHeardAsLongAsItIsTaken) {
  const auto secret = security::ClusterSecret::generate().rotated();
  const std::vector<SipKey> keys = datagram_keys(kCluster, &secret, false);
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_EQ(keys[2], membership::tag_key_of(kCluster));
  DatagramKeys known(keys);
  EXPECT_EQ(known.of(NodeId{2}), keys[0]);
  known.hear(NodeId{2}, keys[2]);
  EXPECT_EQ(known.of(NodeId{2}), keys[2]);
  EXPECT_EQ(known.of(NodeId{3}), keys[0]);
  known.change(datagram_keys(kCluster, &secret, true));
  EXPECT_EQ(known.of(NodeId{2}), keys[0]);
}

TEST_F(NodeDetectors, ANodeWhosePortIsTakenIsFoundByItsDatagrams) {
  node(2).detector.reset();
  const auto thief = std::move(DatagramSocket::open("127.0.0.1", node(2).log.port)).value();
  ASSERT_EQ(thief->port(), node(2).log.port);
  node(2).open();
  EXPECT_NE(node(2).detector->port(), node(2).log.port);
  run(5000);
  EXPECT_EQ(node(1).verdict(2), Verdict::Alive);
  EXPECT_EQ(node(2).verdict(1), Verdict::Alive);
}

TEST_F(NodeDetectors, AChannelThatEndsHurriesTheProbe) {
  run(1000);
  NodePeerView peer;
  peer.link.id = NodeId{3};
  peer.link.incarnation = Incarnation{1};
  peer.link.state = netcore::LinkState::Up;
  node(1).log.node.peers = {peer};
  run(10);
  const auto rounds = [&] {
    return node(1).metrics.counter({.name = "gcoord_detector_rounds_total", .help = ""}).value();
  };
  const std::uint64_t before = rounds();
  node(1).log.node.peers[0].link.state = netcore::LinkState::Idle;
  run(300);
  EXPECT_GT(rounds(), before);
  EXPECT_EQ(node(1).verdict(3), Verdict::Alive) << "it answered";
}

TEST_F(NodeDetectors, AFailedDeviceIsSaidBeforeTheProcessEnds) {
  run(1000);
  node(3).detector->on_device_failed();
  node(3).detector.reset();
  run(200);
  EXPECT_EQ(node(1).verdict(3), Verdict::Suspect);
  for (const membership::NodeSight& each : node(1).detector->sights()) {
    EXPECT_EQ(each.level,
              each.node == NodeId{3} ? membership::Level::Device : membership::Level::Node);
  }
}

}  // namespace
}  // namespace gcoord::server
