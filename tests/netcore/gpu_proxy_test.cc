#include "netcore/gpu_proxy.h"

#include "lane_samples.h"
#include "netcore/transport_loopback.h"
#include "network_world.h"

#include <gtest/gtest.h>

#include <cstring>

namespace gcoord::netcore {
namespace {

constexpr Band kBand = Band::Consensus;

// A node whose kernels (here: this thread) reach the other node through a proxy.
struct ProxyNode final : Sink {
  ProxyNode(std::uint32_t id, std::unique_ptr<Transport> transport, std::uint32_t lanes) {
    PeerNetworkOptions options = node_options(
        id,
        {{NodeId{3 - id}, "node" + std::to_string(3 - id), static_cast<std::uint16_t>(3 - id)}});
    options.listen_host = "node" + std::to_string(id);
    options.listen_port = static_cast<std::uint16_t>(id);
    options.transport = std::move(transport);
    network = must_create(std::move(options));
    GpuProxyOptions proxied;
    proxied.peer = NodeId{3 - id};
    proxied.layout = sample_layout(lanes, 16);
    proxied.epoch = 1;
    proxied.staged_slots_max = 64;
    proxied.lane_of = [](Band, const Slot& slot) {
      return static_cast<std::uint32_t>(slot.bytes[0]);  // Lowest byte of word 0.
    };
    auto made = GpuProxy::create(registry, proxied);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    proxy = std::move(made).value();
  }

  void on_frame(NodeId, Band band, std::span<const Slot> slots, const PayloadView& view) override {
    proxy->deliver(band, slots, view);
  }

  void on_heartbeat(NodeId, const Heartbeat& heartbeat) override { proxy->deliver(heartbeat); }

  void on_peer_up(NodeId, Incarnation, std::uint32_t) override { up = true; }

  void on_peer_down(NodeId, std::string_view) override { up = false; }

  MemoryRegistry registry{make_host_memory()};
  std::unique_ptr<PeerNetwork> network;
  std::unique_ptr<GpuProxy> proxy;
  bool up = false;
};

struct ProxyWorld {
  explicit ProxyWorld(std::uint32_t lanes = 1)
      : one(1, fabric.endpoint(), lanes), two(2, fabric.endpoint(), lanes) {
    for (int i = 0; i < 1000 && !(one.up && two.up); ++i) {
      turn();
    }
    EXPECT_TRUE(one.up && two.up);
  }

  void turn() {
    now_ms += 10;
    for (ProxyNode* node : {&one, &two}) {
      node->network->progress(now_ms, *node);
      node->proxy->pump(*node->network);
      node->network->flush();
    }
  }

  LoopbackFabric fabric;
  std::uint64_t now_ms = 0;
  ProxyNode one;
  ProxyNode two;
};

TEST(GpuProxy, SlotsAndPayloadsCrossTwoProxiesAndTheNetworkBetween) {
  ProxyWorld world;
  LaneSender sender = open_sender(world.one.proxy->device(), kBand, 0);
  LaneReceiver receiver = open_receiver(world.two.proxy->device(), kBand, 0);
  std::uint32_t next = 0;
  std::uint32_t seen = 0;
  const auto payload_of = [](std::uint32_t n) { return n % 3 == 0 ? n % 64 * 256 : 0; };
  for (int turn = 0; turn < 2000 && seen < 500; ++turn) {
    while (next < 500 && send_one(sender, next << 8, payload_of(next))) {
      ++next;
    }
    world.turn();
    for (SlotTile tile = receiver.poll(1); tile.slot_count != 0; tile = receiver.poll(1)) {
      ASSERT_TRUE(is_sample(tile, seen << 8, payload_of(seen))) << seen;
      receiver.release(tile);
      ++seen;
    }
  }
  EXPECT_EQ(seen, 500u);
  EXPECT_EQ(world.one.proxy->counts().slots_out, 500u);
  EXPECT_EQ(world.two.proxy->counts().slots_in, 500u);
  EXPECT_EQ(world.two.proxy->counts().dropped_full, 0u);
}

TEST(GpuProxy, WhatArrivesGoesToTheLaneItsOwnerNames) {
  ProxyWorld world{3};
  LaneSender sender = open_sender(world.one.proxy->device(), kBand, 0);
  for (std::uint32_t lane = 0; lane < 3; ++lane) {
    ASSERT_TRUE(send_one(sender, lane));
  }
  for (int turn = 0; turn < 10; ++turn) {
    world.turn();
  }
  for (std::uint32_t lane = 0; lane < 3; ++lane) {
    LaneReceiver receiver = open_receiver(world.two.proxy->device(), kBand, lane);
    EXPECT_TRUE(is_sample(receiver.poll(1), lane));
  }
}

TEST(GpuProxy, ADeviceThatReadsNothingCostsABoundedStageAndIsCounted) {
  ProxyWorld world;
  LaneSender sender = open_sender(world.one.proxy->device(), kBand, 0);
  std::uint32_t sent = 0;
  for (int turn = 0; turn < 400; ++turn) {
    while (sent < 300 && send_one(sender, sent << 8)) {
      ++sent;
    }
    world.turn();
  }
  EXPECT_EQ(sent, 300u);
  const GpuProxyCounts& counts = world.two.proxy->counts();
  EXPECT_EQ(counts.slots_in, 16 - kControlReserveSlots);
  EXPECT_EQ(counts.slots_in + 64 + counts.dropped_full, 300u);
}

TEST(GpuProxy, LivenessWordsPassBothWays) {
  ProxyWorld world;
  Heartbeat heartbeat;
  heartbeat.incarnation = Incarnation{8};
  heartbeat.send_tick = Tick{77};
  push_heartbeat(world.one.proxy->device(), heartbeat, 1);
  Heartbeat seen;
  std::uint32_t sequence = 0;
  bool came = false;
  for (int turn = 0; turn < 10 && !came; ++turn) {
    world.turn();
    came = pull_heartbeat(world.two.proxy->device(), seen, sequence);
  }
  EXPECT_TRUE(came);
  EXPECT_EQ(seen, heartbeat);
}

}  // namespace
}  // namespace gcoord::netcore
