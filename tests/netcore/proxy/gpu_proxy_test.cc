#include "netcore/proxy/gpu_proxy.h"

#include "netcore/transport/transport_loopback.h"
#include "tests/netcore/gpu_channel/lane_samples.h"
#include "tests/netcore/network_world.h"

#include <gtest/gtest.h>

#include <cstring>

namespace gcoord::netcore {
namespace {

constexpr Band kBand = Band::Consensus;

// Memory that counts what it is asked for: each is a call to a device where there is one.
class CallsCounted final : public MemorySource {
 public:
  std::string name() const override { return memory_->name(); }

  Result<MemoryRange> allocate(MemoryKind kind, std::size_t bytes) override {
    return counted(memory_->allocate(kind, bytes));
  }

  Result<MemoryRange> import(int fd, std::size_t bytes) override {
    return counted(memory_->import(fd, bytes));
  }

  void release(const MemoryRange& range) override {
    ++calls;
    memory_->release(range);
  }

  Status write(std::byte* to, std::span<const std::byte> from) override {
    return counted(memory_->write(to, from));
  }

  Status store_word(std::uint64_t* to, std::uint64_t value) override {
    return counted(memory_->store_word(to, value));
  }

  Status read(std::span<std::byte> to, const std::byte* from) override {
    return counted(memory_->read(to, from));
  }

  Status copy_within(std::byte* to, const std::byte* from, std::size_t bytes) override {
    return counted(memory_->copy_within(to, from, bytes));
  }

  std::uint64_t calls = 0;

 private:
  template <typename Answer>
  Answer counted(Answer answer) {
    ++calls;
    return answer;
  }

  std::unique_ptr<MemorySource> memory_ = make_host_memory();
};

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
    auto made = GpuProxy::create(registry, proxied);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    proxy = std::move(made).value();
    proxy->open();
  }

  void on_frame(NodeId, Band band, std::span<const Slot> slots, const PayloadView& view) override {
    proxy->deliver(band, slots, view, now_ms);
  }

  void on_heartbeat(NodeId, const Heartbeat&) override {}

  void on_peer_up(NodeId, Incarnation, std::uint32_t) override { up = true; }

  void on_peer_down(NodeId, std::string_view) override { up = false; }

  std::uint64_t device_calls() { return static_cast<CallsCounted&>(registry.source()).calls; }

  MemoryRegistry registry{std::make_unique<CallsCounted>()};
  std::unique_ptr<PeerNetwork> network;
  std::unique_ptr<GpuProxy> proxy;
  bool up = false;
  std::uint64_t now_ms = 0;
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
      node->now_ms = now_ms;
      node->proxy->pump(*node->network, now_ms);
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
  EXPECT_EQ(world.two.proxy->counts().dropped(), 0u);
}

// Rows 69 and 156 of docs/internals/channel_rows.md: what a message costs is stores and loads in
// mapped memory.
TEST(GpuProxy, Row69NoMessageCostsACallToTheDevice) {
  ProxyWorld world;
  ASSERT_GT(world.one.device_calls(), 0u);  // Made it.
  const std::uint64_t before = world.one.device_calls() + world.two.device_calls();
  LaneSender sender = open_sender(world.one.proxy->device(), kBand, 0);
  LaneReceiver receiver = open_receiver(world.two.proxy->device(), kBand, 0);
  std::uint32_t seen = 0;
  for (std::uint32_t sent = 0; seen < 200;) {
    sent += sent < 200 && send_one(sender, sent << 8, 256) ? 1 : 0;
    world.turn();
    for (SlotTile tile = receiver.poll(1); tile.slot_count != 0; tile = receiver.poll(1)) {
      receiver.release(tile);
      ++seen;
    }
    ASSERT_LT(world.now_ms, 1'000'000u) << seen;
  }
  EXPECT_EQ(world.one.device_calls() + world.two.device_calls(), before);
}

TEST(GpuProxy, WhatLeavesALaneArrivesInTheSameOne) {
  ProxyWorld world{3};
  for (std::uint32_t lane = 0; lane < 3; ++lane) {
    LaneSender sender = open_sender(world.one.proxy->device(), kBand, lane);
    ASSERT_TRUE(send_one(sender, 100 + lane));
  }
  for (int turn = 0; turn < 10; ++turn) {
    world.turn();
  }
  for (std::uint32_t lane = 0; lane < 3; ++lane) {
    LaneReceiver receiver = open_receiver(world.two.proxy->device(), kBand, lane);
    EXPECT_TRUE(is_sample(receiver.poll(1), 100 + lane));
  }
}

// Its peer's lane fills up; once it reads, everything comes, in order.
TEST(GpuProxy, ADeviceThatReadsNothingHoldsItsPeerUpAndLosesNothing) {
  ProxyWorld world;
  LaneSender sender = open_sender(world.one.proxy->device(), kBand, 0);
  std::uint32_t sent = 0;
  const auto turns = [&](int count) {
    for (int turn = 0; turn < count; ++turn) {
      while (sent < 300 && send_one(sender, sent << 8)) {
        ++sent;
      }
      world.turn();
    }
  };
  turns(400);
  EXPECT_LT(sent, 64u);  // Three rings of 16, and no more.
  LaneReceiver receiver = open_receiver(world.two.proxy->device(), kBand, 0);
  std::uint32_t seen = 0;
  for (int round = 0; round < 300 && seen < 300; ++round) {
    for (SlotTile tile = receiver.poll(1); tile.slot_count != 0; tile = receiver.poll(1)) {
      ASSERT_TRUE(is_sample(tile, seen << 8)) << seen;
      receiver.release(tile);
      ++seen;
    }
    turns(4);
  }
  EXPECT_EQ(seen, 300u);
  EXPECT_EQ(world.two.proxy->counts().dropped(), 0u);
}

// The peer has its end only once it says so, or sends under the epoch itself.
TEST(GpuProxy, NothingLeavesBeforeThePeerHasItsEnd) {
  MemoryRegistry registry{make_host_memory()};
  ProxyWorld world;
  GpuProxyOptions options;
  options.peer = NodeId{2};
  options.layout = sample_layout(1, 16);
  options.epoch = 2;
  auto made = GpuProxy::create(registry, options);
  ASSERT_TRUE(made.ok());
  GpuProxy& proxy = *made.value();
  LaneSender sender = open_sender(proxy.device(), kBand, 0);
  ASSERT_TRUE(send_one(sender, 1));
  EXPECT_EQ(proxy.pump(*world.one.network, 0), 0u);
  const Slot liveness = proxy_slot(proxy_liveness(2, Heartbeat{}));
  proxy.deliver(Band::Control, {&liveness, 1}, {}, 0);
  EXPECT_TRUE(proxy.is_open());
  EXPECT_EQ(proxy.pump(*world.one.network, 0), 1u);
  proxy.end();
  ASSERT_TRUE(send_one(sender, 2));
  EXPECT_EQ(proxy.pump(*world.one.network, 0), 0u);
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

GpuProxyOptions options_of(std::uint32_t epoch, std::uint32_t lanes) {
  GpuProxyOptions options;
  options.peer = NodeId{2};
  options.layout = sample_layout(lanes, 16);
  options.epoch = epoch;
  return options;
}

std::unique_ptr<GpuProxy> must_make(MemoryRegistry& registry, const GpuProxyOptions& options) {
  auto made = GpuProxy::create(registry, options);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return std::move(made).value();
}

// A proxy of a device that hears of its peer, and what the peer says.
class SilentPeerTest : public testing::Test {
 protected:
  SilentPeerTest() {
    GpuProxyOptions options = options_of(9, 1);
    options.silence_ms_max = 100;
    options.slots_behind = [](const Slot& slot) {
      return std::to_integer<unsigned>(slot.bytes[0]);
    };
    proxy_ = must_make(registry_, options);
    proxy_->open();
  }

  void say_word(std::uint64_t now_ms) {
    const Slot word = proxy_slot(proxy_liveness(9, Heartbeat{}));
    proxy_->deliver(Band::Control, {&word, 1}, {}, now_ms);
  }

  // Slots that say how many behind them belong to them.
  bool device_sends(const std::vector<std::uint32_t>& behind) {
    LaneSender sender = open_sender(proxy_->device(), kBand, 0);
    bool sent = true;
    for (const std::uint32_t count : behind) {
      sent = sent && send_one(sender, count);
    }
    close_sender(proxy_->device(), kBand, 0, sender);
    return sent;
  }

  std::size_t pump(std::uint64_t now_ms) { return proxy_->pump(*world_.one.network, now_ms); }

  ProxyWorld world_;
  MemoryRegistry registry_{make_host_memory()};
  std::unique_ptr<GpuProxy> proxy_;
};

TEST_F(SilentPeerTest, WhatIsSaidToItBeforeItsFirstWordIsLetGo) {
  ASSERT_TRUE(device_sends({0, 0, 0}));
  EXPECT_EQ(pump(5000), 3u);
  EXPECT_EQ(proxy_->counts().slots_let_go, 3u);
  say_word(5000);
  ASSERT_TRUE(device_sends({0, 0}));
  EXPECT_EQ(pump(5000), 2u);
  EXPECT_EQ(proxy_->counts().slots_out, 2u);
}

// It may be far away, or not able to make its end now.
TEST_F(SilentPeerTest, WhatIsSaidToItBeforeItHasItsEndIsLetGoToo) {
  GpuProxyOptions options = options_of(9, 1);
  options.silence_ms_max = 100;
  proxy_ = must_make(registry_, options);
  for (int round = 0; round < 40; ++round) {
    ASSERT_TRUE(device_sends({0, 0, 0, 0})) << round;
    EXPECT_EQ(pump(10), 4u);
  }
  EXPECT_FALSE(proxy_->ended());
  say_word(10);
  EXPECT_FALSE(proxy_->ended());
  ASSERT_TRUE(device_sends({0}));
  EXPECT_EQ(pump(10), 1u);
  EXPECT_EQ(proxy_->counts().slots_out, 1u);
}

TEST_F(SilentPeerTest, NoMessageIsLetGoInPart) {
  ASSERT_TRUE(device_sends({3, 0}));
  pump(10);
  say_word(10);
  ASSERT_TRUE(device_sends({0, 0, 2, 0, 0}));
  EXPECT_EQ(pump(10), 3u);
  EXPECT_EQ(proxy_->counts().slots_let_go, 4u);
}

// However much it is in all.
TEST_F(SilentPeerTest, LanesThatFillUpBeforeItsFirstWordAreGivenUp) {
  for (int round = 0; round < 40; ++round) {
    ASSERT_TRUE(device_sends({0, 0, 0, 0}));
    pump(10);
  }
  EXPECT_FALSE(proxy_->ended());
  ASSERT_TRUE(device_sends({0, 0, 0, 0, 0, 0, 0, 0, 0}));
  say_word(10);
  EXPECT_TRUE(proxy_->ended());
  EXPECT_EQ(pump(10), 0u);
}

TEST_F(SilentPeerTest, ASilenceThatIsTooLongEndsTheProxyAndALateWordDoesNotSaveIt) {
  say_word(10);
  say_word(110);
  EXPECT_FALSE(proxy_->ended());
  say_word(211);
  EXPECT_TRUE(proxy_->ended());
  ASSERT_TRUE(device_sends({0}));
  EXPECT_EQ(pump(211), 0u);
}

TEST_F(SilentPeerTest, ASilenceIsNoticedWithoutAWord) {
  say_word(10);
  ASSERT_TRUE(device_sends({0}));
  EXPECT_EQ(pump(111), 0u);
  EXPECT_TRUE(proxy_->ended());
}

// It lives, and says nothing of what it has passed on, or too little for ever.
TEST_F(SilentPeerTest, ALaneThatIsGrantedNothingForLongEndsTheProxy) {
  say_word(10);
  ASSERT_TRUE(device_sends(std::vector<std::uint32_t>(14)));
  EXPECT_EQ(pump(10), 14u);
  ASSERT_TRUE(device_sends({0, 0, 0, 0}));
  EXPECT_EQ(pump(10), 2u);
  std::uint64_t now_ms = 10;
  for (; now_ms <= 410; now_ms += 50) {
    say_word(now_ms);
    pump(now_ms);
    EXPECT_FALSE(proxy_->ended()) << now_ms;
  }
  say_word(now_ms);
  EXPECT_EQ(pump(now_ms), 0u);
  EXPECT_TRUE(proxy_->ended());
  EXPECT_EQ(proxy_->counts().starved, 1u);
}

TEST_F(SilentPeerTest, ALaneThatIsGrantedLittleGoesOn) {
  say_word(10);
  ProxyGrants grants;
  grants.epoch = 9;
  grants.count = 1;
  grants.grant[0].lane = 2;  // Behind the two control lanes.
  ASSERT_TRUE(device_sends(std::vector<std::uint32_t>(14)));
  pump(10);
  for (std::uint64_t now_ms = 10; now_ms < 5000; now_ms += 90) {
    say_word(now_ms);
    device_sends({0, 0, 0, 0});
    pump(now_ms);
    grants.grant[0].consumed += (now_ms / 90) % 4 == 0 ? 1 : 0;
    const Slot word = proxy_slot(grants);
    proxy_->deliver(Band::Control, {&word, 1}, {}, now_ms);
    ASSERT_FALSE(proxy_->ended()) << now_ms;
  }
  EXPECT_GT(proxy_->counts().slots_out, 20u);
}

// One proxy, and what a peer could say to it.
class HostileProxyTest : public testing::Test {
 protected:
  HostileProxyTest() {
    proxy_ = must_make(registry_, options_of(5, 2));
    run_.epoch = 5;
    run_.lane = 2;  // Behind the two control lanes.
    run_.slot_count = 1;
  }

  // The word with an extent of so many bytes in the frame; 0: without one.
  template <typename Word>
  void say(const Word& word, std::uint32_t extent_bytes, Band band = kBand) {
    const Slot slot = proxy_slot(word);
    const ExtentRow row{0, extent_bytes};
    const std::vector<std::byte> bytes(extent_bytes + 8);
    const PayloadView view{
        reinterpret_cast<const std::byte*>(&row), bytes.data(), extent_bytes != 0 ? 1u : 0u};
    proxy_->deliver(band, {&slot, 1}, view, 0);
  }

  MemoryRegistry registry_{make_host_memory()};
  std::unique_ptr<GpuProxy> proxy_;
  ProxyRun run_;
};

TEST_F(HostileProxyTest, WhatCannotBeIsDroppedAndCountedAndTheLaneGoesOn) {
  const auto with = [this](auto change) {
    ProxyRun run = run_;
    change(run);
    return run;
  };
  say(with([](ProxyRun& run) { run.word = ProxyWord{9}; }), 64);
  say(with([](ProxyRun& run) { run.lane = 4; }), 64);
  say(with([](ProxyRun& run) { run.lane = ~0u; }), 64);
  say(run_, 64, Band::Control);
  say(with([](ProxyRun& run) { run.slot_count = 0; }), 0);
  say(with([](ProxyRun& run) { run.slot_count = 65; }), 65 * 64);
  say(with([](ProxyRun& run) { run.slot_count = 2; }), 64);
  say(run_, 0);
  say(run_, 72);
  say(with([](ProxyRun& run) { run.payload_bytes = ~0u; }), 64);
  say(with([](ProxyRun& run) {
        run.slot_count = 2;
        run.payload_bytes = 64;
      }),
      192);
  ProxyGrants grants;
  grants.epoch = 5;
  grants.count = 7;
  say(grants, 0, Band::Control);
  grants.count = 1;
  grants.grant[0].lane = 4;
  say(grants, 0, Band::Control);
  EXPECT_EQ(proxy_->counts().dropped_form, 13u);
  say(with([](ProxyRun& run) { run.epoch = 4; }), 64);
  EXPECT_EQ(proxy_->counts().dropped_epoch, 1u);
  grants.grant[0] = {2, 1};  // Nothing was sent.
  say(grants, 0, Band::Control);
  EXPECT_EQ(proxy_->counts().dropped_overrun, 1u);
  EXPECT_EQ(proxy_->counts().slots_in, 0u);
  EXPECT_EQ(proxy_->fault(), DropReason::None);
  say(run_, 64);
  EXPECT_EQ(proxy_->counts().slots_in, 1u);
}

TEST_F(HostileProxyTest, AGapInALaneIsAFaultAndNothingFollowsIt) {
  run_.first = 1;
  say(run_, 64);
  EXPECT_EQ(proxy_->counts().dropped_gap, 1u);
  EXPECT_EQ(proxy_->fault(), DropReason::BadField);
  run_.first = 0;
  say(run_, 64);
  EXPECT_EQ(proxy_->counts().slots_in, 0u);
  EXPECT_EQ(proxy_->counts().dropped_epoch, 1u);
}

TEST_F(HostileProxyTest, SlotsThatComeTwiceOrOutOfOrderAreAFaultAndAreNotDelivered) {
  say(run_, 64);
  say(run_, 64);
  EXPECT_EQ(proxy_->counts().slots_in, 1u);
  EXPECT_EQ(proxy_->counts().dropped_gap, 1u);
  EXPECT_EQ(proxy_->fault(), DropReason::BadField);
  proxy_ = must_make(registry_, options_of(5, 2));
  run_.first = ~0u;  // One lap of the wire's cursors behind.
  say(run_, 64);
  EXPECT_EQ(proxy_->counts().slots_in, 0u);
  EXPECT_EQ(proxy_->counts().dropped_gap, 1u);
}

// It stops its own lane and no other, and can say nothing that lets more out.
TEST_F(HostileProxyTest, GrantsThatFallOrRepeatLetNothingOut) {
  ProxyGrants grants;
  grants.epoch = 5;
  grants.count = 1;
  for (const std::uint32_t consumed : {0u, ~0u, 1u << 31, (1u << 31) - 1}) {
    grants.grant[0] = {2, consumed};
    say(grants, 0, Band::Control);
  }
  EXPECT_EQ(proxy_->fault(), DropReason::None);
  EXPECT_EQ(proxy_->counts().dropped_overrun, 3u);
}

TEST_F(HostileProxyTest, SlotsWithoutCreditAreAFault) {
  for (run_.first = 0; run_.first < 16; ++run_.first) {
    say(run_, 64);
  }
  EXPECT_EQ(proxy_->fault(), DropReason::None);
  say(run_, 64);
  EXPECT_EQ(proxy_->counts().dropped_overrun, 1u);
  EXPECT_EQ(proxy_->fault(), DropReason::CreditOverrun);
}

TEST(GpuProxy, PayloadsThatNoFrameCarriesAreRefused) {
  MemoryRegistry registry{make_host_memory()};
  GpuProxyOptions options;
  options.peer = NodeId{2};
  options.layout.band[0] = {1, 16, kPayloadRingBytesMin};  // Of the control band: 4096 bytes.
  options.epoch = 1;
  EXPECT_EQ(GpuProxy::create(registry, options).status().code(), StatusCode::InvalidArgument);
}

}  // namespace
}  // namespace gcoord::netcore
