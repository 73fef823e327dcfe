// The proxies that a resident node owns: what it says of them, what is counted, and that one which
// has ended or was replaced is none any more.
#include "server/resident/links/proxies.h"

#include "netcore/transport/transport_loopback.h"

#include <gtest/gtest.h>

#include <utility>

namespace gcoord::server {
namespace {

using netcore::Band;
using netcore::Slot;

constexpr NodeId kPeer{2};

class ResidentProxiesTest : public testing::Test {
 protected:
  ResidentProxiesTest() {
    ResidentNodeOptions options;
    options.shape = {
        .shard_count = 8, .stripe_count = 2, .log_slots = 64, .entries_max = 8, .wide_count = 8};
    options.ring_slots = 256;
    auto node = ResidentNode::make(options, netcore::make_host_memory());
    EXPECT_TRUE(node.ok()) << node.status().to_string();
    node_ = std::move(node).value();
    netcore::PeerNetworkOptions network;
    network.cluster = ClusterId{1};
    network.node = NodeId{1};
    network.incarnation = Incarnation{1};
    network.directory = netcore::DirectoryId{1};
    network.listen_host = "node1";
    network.listen_port = 1;
    network.peers = {{kPeer, "node2", 2}};
    network.transport = fabric_.endpoint();
    auto made = netcore::PeerNetwork::create(std::move(network));
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    network_ = std::move(made).value();
    proxies_.emplace(*node_, *network_, registry_, 1000);
  }

  std::uint64_t dropped(const std::string& reason) {
    proxies_->tell_metrics();
    return registry_.counter({"gcoord_server_resident_proxy_dropped_total", "", "reason", reason})
        .value();
  }

  void deliver(const netcore::ProxyRun& run) {
    const Slot slot = netcore::proxy_slot(run);
    proxies_->deliver(kPeer, Band::Consensus, {&slot, 1}, {}, 1);
  }

  netcore::LoopbackFabric fabric_;
  MetricsRegistry registry_;
  std::unique_ptr<ResidentNode> node_;
  std::unique_ptr<netcore::PeerNetwork> network_;
  std::optional<ResidentProxies> proxies_;
};

TEST_F(ResidentProxiesTest, AProxyIsTheNodesChannelUntilItEnds) {
  EXPECT_EQ(node_->proxy(kPeer), nullptr);
  EXPECT_EQ(node_->epoch(kPeer), 0u);
  ASSERT_TRUE(proxies_->connect(kPeer, 4, true).ok());
  EXPECT_TRUE(proxies_->live());
  EXPECT_EQ(node_->epoch(kPeer), 4u);
  EXPECT_EQ(node_->epoch_next(kPeer), 5u);
  EXPECT_EQ(node_->view().channel[0].epoch, 4u);
  EXPECT_FALSE(node_->connected());  // Node 3 is missing.
  proxies_->end(kPeer);
  EXPECT_FALSE(proxies_->live());
  EXPECT_EQ(node_->epoch(kPeer), 0u);
}

TEST_F(ResidentProxiesTest, AChannelOfAnotherLifeOfThePeerCountsAsNone) {
  ASSERT_TRUE(proxies_->connect(kPeer, 4, true).ok());
  node_->forget_epochs(kPeer);
  EXPECT_EQ(node_->epoch(kPeer), 0u);
  EXPECT_EQ(node_->epoch_next(kPeer), 1u);
  ASSERT_TRUE(proxies_->connect(kPeer, 4, true).ok());
  EXPECT_EQ(node_->epoch(kPeer), 4u);
}

TEST_F(ResidentProxiesTest, OneThatThePeerDoesNotHaveYetMovesNothing) {
  ASSERT_TRUE(proxies_->connect(kPeer, 4, false).ok());
  EXPECT_FALSE(proxies_->live());
  EXPECT_EQ(proxies_->pump(1), 0u);
  proxies_->open(kPeer);
  EXPECT_TRUE(proxies_->live());
}

TEST_F(ResidentProxiesTest, WhatCameIsWorkOnce) {
  ASSERT_TRUE(proxies_->connect(kPeer, 4, true).ok());
  netcore::ProxyRun run;
  run.epoch = 4;
  deliver(run);
  EXPECT_EQ(proxies_->pump(1), 1u);
  EXPECT_EQ(proxies_->pump(1), 0u);
}

TEST_F(ResidentProxiesTest, AnotherChannelTakesItsPlace) {
  ASSERT_TRUE(proxies_->connect(kPeer, 4, true).ok());
  ASSERT_TRUE(node_->stand_in(kPeer).ok());
  EXPECT_EQ(node_->proxy(kPeer), nullptr);
  EXPECT_FALSE(proxies_->live());
  EXPECT_EQ(proxies_->pump(1), 0u);
  EXPECT_EQ(node_->epoch_next(kPeer), 5u);
}

TEST_F(ResidentProxiesTest, WhatNoPeerShouldSendIsCountedByReasonOverAllProxies) {
  netcore::ProxyRun run;
  deliver(run);
  EXPECT_EQ(dropped("no_proxy"), 1u);
  for (std::uint32_t epoch = 1; epoch <= 2; ++epoch) {
    ASSERT_TRUE(proxies_->connect(kPeer, epoch, true).ok());
    run.epoch = 7;
    deliver(run);
    run.epoch = epoch;
    deliver(run);  // Without its slots.
  }
  EXPECT_EQ(dropped("stale_epoch"), 2u);
  EXPECT_EQ(dropped("bad_field"), 2u);
  EXPECT_EQ(dropped("gap"), 0u);
}

}  // namespace
}  // namespace gcoord::server
