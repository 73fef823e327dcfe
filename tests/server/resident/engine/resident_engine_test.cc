// A resident node and a peer that was admitted and says what it likes about joining: what it is
// believed, how often it is acted on and logged, and that nothing of it ends the node.
#include "netcore/gpu_channel/nvlink.h"
#include "netcore/transport/transport_loopback.h"
#include "server/device_turn/view.h"
#include "server/peers/admission.h"
#include "server/platform/log_rate_limit.h"
#include "server/resident/engine/resident_replicas.h"
#include "tests/scratch_folder.h"
#include "tests/server/host_turn/engine_toy_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::server {
namespace {

using netcore::Band;

constexpr std::uint32_t kShardCount = 32;

constexpr std::uint16_t port_of(NodeId node) {
  return static_cast<std::uint16_t>(7000 + node.value);
}

// Memory of the host that is there or not, as a test likes.
class ScarceMemory final : public netcore::MemorySource {
 public:
  explicit ScarceMemory(const bool& scarce) : scarce_(scarce) {}

  std::string name() const override { return memory_->name(); }

  Result<netcore::MemoryRange> allocate(netcore::MemoryKind kind, std::size_t bytes) override {
    if (scarce_) {
      return Status{StatusCode::ResourceExhausted, "no memory in this test"};
    }
    return memory_->allocate(kind, bytes);
  }

  Result<netcore::MemoryRange> import(int fd, std::size_t bytes) override {
    return memory_->import(fd, bytes);
  }

  void release(const netcore::MemoryRange& range) override { memory_->release(range); }

  Status write(std::byte* to, std::span<const std::byte> from) override {
    return memory_->write(to, from);
  }

  Status store_word(std::uint64_t* to, std::uint64_t value) override {
    return memory_->store_word(to, value);
  }

  Status read(std::span<std::byte> to, const std::byte* from) override {
    return memory_->read(to, from);
  }

  Status copy_within(std::byte* to, const std::byte* from, std::size_t bytes) override {
    return memory_->copy_within(to, from, bytes);
  }

 private:
  const bool& scarce_;
  std::unique_ptr<netcore::MemorySource> memory_ = netcore::make_host_memory();
};

// One life of the peer.
class Talker final : public netcore::Sink {
 public:
  Talker(netcore::LoopbackFabric& fabric, NodeId self, NodeId to, std::uint32_t incarnation)
      : to_(to), life_{incarnation} {
    netcore::PeerNetworkOptions options;
    options.cluster = ClusterId{77};
    options.node = self;
    options.incarnation = life_;
    options.directory = netcore::DirectoryId{9};
    options.life = incarnation;
    options.settings = {kShardCount, 10, 1000, 3, resident_setting(false, 0)};
    options.listen_host = "loop";
    options.listen_port = port_of(self);
    options.peers = {{to, "loop", port_of(to)}};
    options.transport = fabric.endpoint();
    network_ = netcore::PeerNetwork::create(std::move(options)).value();
  }

  void progress(std::uint64_t now_ms) {
    network_->heartbeat(to_, {.incarnation = life_, .send_tick = Tick{now_ms}});
    network_->progress(now_ms, *this);
    network_->flush();
  }

  // What it is, and where it waits for others.
  bool say(const ResidentReady& ready) {
    const bool told = !ready.tells_folder || send(write_socket_folder(ready.place.folder));
    return told && send(write_resident_ready(ready));
  }

  bool send(std::span<const std::byte> message) {
    const netcore::Slot slot{};
    const netcore::PayloadExtent extent{.slot_index = 0, .bytes = message};
    return network_->send(to_, Band::Rpc, {&slot, 1}, {&extent, 1});
  }

  // What the node last said of itself.
  const std::optional<ResidentReady>& heard() const { return heard_; }

  const std::optional<SocketFolder>& heard_folder() const { return heard_folder_; }

  const std::optional<LinkHello>& heard_hello() const { return heard_hello_; }

  void on_frame(NodeId,
                Band band,
                std::span<const netcore::Slot>,
                const netcore::PayloadView& payloads) override {
    for (const netcore::PayloadExtent extent : payloads) {
      if (const auto folder = read_socket_folder(extent.bytes); folder.has_value()) {
        heard_folder_ = folder;
      }
      if (const auto hello = read_link_hello(extent.bytes); hello.has_value()) {
        heard_hello_ = hello;
      }
      const auto ready = read_resident_ready(extent.bytes);
      heard_ = band == Band::Rpc && ready.has_value() ? ready : heard_;
    }
  }

  void on_heartbeat(NodeId, const netcore::Heartbeat&) override {}

  void on_peer_up(NodeId, Incarnation, std::uint32_t) override {}

  void on_peer_down(NodeId, std::string_view) override {}

 private:
  NodeId to_;
  Incarnation life_;
  std::unique_ptr<netcore::PeerNetwork> network_;
  std::optional<ResidentReady> heard_;
  std::optional<SocketFolder> heard_folder_;
  std::optional<LinkHello> heard_hello_;
};

class ResidentEngineTest : public testing::Test {
 protected:
  // Whose peer is the lower node, which says under which epoch a proxy is made.
  explicit ResidentEngineTest(NodeId self = NodeId{2}) : self_(self) {
    testing::internal::CaptureStdout();
    ResidentReplicasOptions options;
    ReplicaOptions& engine = options.engine;
    engine.cluster = ClusterId{77};
    engine.node = self_;
    engine.shard_count = kShardCount;
    engine.peers = {{other_, "loop", port_of(other_)}, {NodeId{3}, "loop", 7003}};
    engine.listen_host = "loop";
    engine.listen_port = port_of(self_);
    engine.transport = fabric_.endpoint();
    engine.data_directory = (std::filesystem::path{folder_.path()} / "node").string();
    engine.durability = consensus::Durability::Memory;
    engine.timing.election_ticks = 100;
    engine.clock_us = [this] { return now_ms_ * 1000; };
    engine.make_memory = [this] { return std::make_unique<ScarceMemory>(scarce_); };
    options.locks_max = 1 << 10;
    options.nodes_take_records = [this] { return nodes_take_records_; };
    auto opened = ResidentReplicas::open(std::move(options), service_, registry_);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    engine_ = std::move(opened).value();
    begin_life(1);
  }

  ~ResidentEngineTest() override { testing::internal::GetCapturedStdout(); }

  void begin_life(std::uint32_t incarnation) {
    peer_.reset();
    peer_ = std::make_unique<Talker>(fabric_, other_, self_, incarnation);
    pass(5000, [this] { return peer_->heard().has_value(); });
    ASSERT_TRUE(peer_->heard().has_value());
    ready_ = {};
    ready_.place = peer_->heard()->place;
    ready_.place.folder = folder_of("peer");
    ready_.wish = ResidentPeers::Proxy;
    ready_.says_hello = false;  // As nodes of before docs/adr/0164.
  }

  // This node plays one of a later release, and keeps what it is told first.
  LinkHello ask_hello() {
    ready_.says_hello = true;
    EXPECT_TRUE(peer_->say(ready_));
    EXPECT_TRUE(pass(500, [this] { return peer_->heard_hello().has_value(); }));
    return peer_->heard_hello().value_or(LinkHello{});
  }

  // Of the node, or of its peer.
  SocketFolder folder_of(const std::string& who) const {
    const std::filesystem::path path = std::filesystem::path{folder_.path()} / who;
    std::filesystem::create_directory(path);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return find_socket_folder(path.string()).value();
  }

  void turn(std::uint64_t ms = 1) {
    now_ms_ += ms;
    peer_->progress(now_ms_);
    engine_->turn();
  }

  // Lets time pass until something holds, at most so long.
  template <typename Condition>
  bool pass(std::uint64_t most_ms, const Condition& holds) {
    for (std::uint64_t ms = 0; ms < most_ms && !holds(); ++ms) {
      turn();
    }
    return holds();
  }

  void pass(std::uint64_t ms) {
    pass(ms, [] { return false; });
  }

  // As the lower node that has made its end of a proxy.
  void say_proxy(std::uint32_t epoch) {
    ready_.way = ResidentLinkKind::Proxy;
    ready_.epoch = epoch;
    ready_.epoch_next = netcore::epoch_after(epoch);
    ASSERT_TRUE(peer_->say(ready_));
  }

  bool has_proxy(std::uint32_t epoch) const {
    const auto& heard = peer_->heard();
    return heard->way == ResidentLinkKind::Proxy && heard->epoch == epoch;
  }

  std::uint64_t count(const std::string& name, const std::string& reason = "") {
    return registry_.counter({name, "", reason.empty() ? "" : "reason", reason}).value();
  }

  // What was logged since this was last asked.
  static std::string logged() {
    std::string text = testing::internal::GetCapturedStdout();
    testing::internal::CaptureStdout();
    return text;
  }

  const NodeId self_;
  const NodeId other_{3 - self_.value};
  const ScratchFolder folder_;
  netcore::LoopbackFabric fabric_;
  MetricsRegistry registry_;
  ToyService service_;
  bool scarce_ = false;
  bool nodes_take_records_ = false;
  std::uint64_t now_ms_ = 1000;
  std::unique_ptr<ResidentReplicas> engine_;
  std::unique_ptr<Talker> peer_;
  ResidentReady ready_;  // What the peer says.
};

constexpr const char* kDropped = "gcoord_server_resident_ready_dropped_total";

TEST_F(ResidentEngineTest, AnEpochThatNobodyReachesByJoiningIsDroppedAndThePairGoesOn) {
  for (const std::uint32_t epoch :
       {netcore::kGpuEpochMax / 2 - 1, 2 * netcore::kGpuEpochLead, netcore::kGpuEpochLead + 2}) {
    say_proxy(epoch);
    pass(500);
    EXPECT_EQ(peer_->heard()->epoch, 0u) << epoch;
  }
  EXPECT_EQ(count(kDropped, "far_epoch"), 3u);
  say_proxy(1);
  EXPECT_TRUE(pass(500, [this] { return has_proxy(1); }));
  EXPECT_TRUE(engine_->failure().ok());
}

TEST_F(ResidentEngineTest, TakesRecordsWhileAllNodesAreKnownToTakeThem) {
  EXPECT_FALSE(engine_->abilities().takes_records);
  nodes_take_records_ = true;
  EXPECT_TRUE(engine_->abilities().takes_records);
  nodes_take_records_ = false;
  EXPECT_FALSE(engine_->abilities().takes_records) << "its log has none yet";
}

TEST_F(ResidentEngineTest, WhatNoNodeSaysIsDroppedAndCounted) {
  ResidentReadyBytes bytes = write_resident_ready(ready_);
  bytes[1] = std::byte{0xff};
  ASSERT_TRUE(peer_->send(bytes));
  ASSERT_TRUE(peer_->send(std::span{bytes}.first(1)));
  pass(10);
  EXPECT_EQ(count(kDropped, "bad_field"), 2u);
}

// Step by step, each one plausible, a peer comes to the end of the numbers: they go round, and with
// its next life they begin anew.
TEST_F(ResidentEngineTest, EpochsGoRoundAndBeginAnewWithAPeersNextLife) {
  const auto join = [this](std::uint32_t epoch) {
    say_proxy(epoch);
    ASSERT_TRUE(pass(500, [&] { return has_proxy(epoch); })) << epoch;
  };
  for (std::uint32_t epoch = 1; epoch < netcore::kGpuEpochMax;
       epoch += std::min(netcore::kGpuEpochLead, netcore::kGpuEpochMax - epoch)) {
    join(epoch);
  }
  for (const std::uint32_t epoch : {netcore::kGpuEpochMax, 2u, 3u}) {
    join(epoch);
  }
  EXPECT_TRUE(engine_->failure().ok());
  begin_life(2);
  EXPECT_EQ(peer_->heard()->epoch, 0u);
  EXPECT_EQ(peer_->heard()->epoch_next, 1u);
  say_proxy(1);
  EXPECT_TRUE(pass(500, [this] { return has_proxy(1); }));
}

TEST_F(ResidentEngineTest, AProxyThatCannotBeMadeIsTriedAgainLater) {
  scarce_ = true;
  for (int again = 0; again < 50; ++again) {
    say_proxy(1);
    pass(100);
  }
  ASSERT_TRUE(engine_->failure().ok()) << engine_->failure().to_string();
  EXPECT_EQ(count("gcoord_server_resident_proxy_failures_total"), 3u) << "0, 1 and 3 seconds";
  EXPECT_NE(logged().find("no memory in this test"), std::string::npos);
  EXPECT_EQ(peer_->heard()->epoch, 0u);
  scarce_ = false;
  EXPECT_TRUE(pass(3000, [this] {
    say_proxy(1);
    return has_proxy(1);
  }));
  EXPECT_TRUE(engine_->failure().ok());
}

// Each join rests the turn, which other peers wait for.
TEST_F(ResidentEngineTest, APeerThatWantsANewProxyAllTheTimeGetsOneNowAndThen) {
  const std::uint64_t before = count("gcoord_server_resident_proxies_total");
  for (std::uint32_t epoch = 1; epoch <= 2000; ++epoch) {
    say_proxy(epoch);
    turn();
  }
  const std::uint64_t made = count("gcoord_server_resident_proxies_total") - before;
  EXPECT_GE(made, 15u);
  EXPECT_LE(made, 2000 / kJoinGapMs + 1);
  EXPECT_TRUE(pass(500, [this] { return has_proxy(2000); })) << "the newest in the end";
}

TEST_F(ResidentEngineTest, AWishThatAlternatesIsCountedAndSeldomSaid) {
  ready_.mapping = Mapping::Possible;
  pass(10);
  static_cast<void>(logged());
  for (int again = 0; again < 3000; ++again) {
    ready_.wish = again % 2 == 0 ? ResidentPeers::Proxy : ResidentPeers::Auto;
    ready_.mapping = again % 3 == 0 ? Mapping::NoAccess : Mapping::Possible;
    ASSERT_TRUE(peer_->say(ready_));
    turn();
  }
  EXPECT_GE(count("gcoord_server_resident_link_changes_total"), 2000u);
  const std::string text = logged();
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), LogRateLimit::kAtOnce + 1);
  EXPECT_TRUE(engine_->failure().ok());
}

// The peer says that it looks for this node, and nobody is at its socket.
TEST_F(ResidentEngineTest, NodesThatDoNotMeetTakeTheProxyAndSayWhy) {
  ready_.wish = ResidentPeers::Auto;
  ready_.mapping = Mapping::Possible;
  const auto gave_up = [this] { return peer_->heard()->mapping == Mapping::Failed; };
  const std::uint64_t began_ms = now_ms_;
  EXPECT_TRUE(pass(60'000, [&] {
    peer_->say(ready_);
    return gave_up();
  }));
  EXPECT_GE(now_ms_ - began_ms, kMappingPatienceMs);
  EXPECT_EQ(count("gcoord_server_resident_mapping_failures_total"), kMappingTries);
  say_proxy(1);
  EXPECT_TRUE(pass(500, [this] { return has_proxy(1); }));
  EXPECT_NE(logged().find("did not meet by sockets"), std::string::npos);
  // Its next life is tried anew.
  begin_life(2);
  EXPECT_EQ(peer_->heard()->mapping, Mapping::Possible);
}

// Issue 23, A18: sockets lie in the data directory, and not where everybody may make names.
TEST_F(ResidentEngineTest, ANodeTellsOfItsDataDirectoryToWhoeverWantsToKnow) {
  pass(200);
  EXPECT_FALSE(peer_->heard_folder().has_value()) << "the peer may be of a release of before";
  ready_.tells_folder = false;
  ASSERT_TRUE(peer_->say(ready_));
  pass(200);
  EXPECT_FALSE(peer_->heard_folder().has_value());
  EXPECT_EQ(peer_->heard()->mapping, Mapping::OtherFolder);
  ready_.tells_folder = true;
  ASSERT_TRUE(peer_->say(ready_));
  ASSERT_TRUE(pass(500, [this] { return peer_->heard_folder().has_value(); }));
  EXPECT_TRUE(*peer_->heard_folder() == folder_of("node"));
  EXPECT_TRUE(pass(2000, [this] {
    peer_->say(ready_);
    return peer_->heard()->mapping == Mapping::Possible;
  }));
}

TEST_F(ResidentEngineTest, AFolderThatNoNodeTellsOfIsDroppedAndCounted) {
  std::vector<std::byte> bytes = write_socket_folder(folder_of("peer"));
  bytes.resize(24);
  ASSERT_TRUE(peer_->send(bytes));
  pass(10);
  EXPECT_EQ(count(kDropped, "bad_field"), 1u);
}

TEST_F(ResidentEngineTest, APeerThatSaysAHelloIsJoinedOnceItIsKnown) {
  pass(200);
  EXPECT_FALSE(peer_->heard_hello().has_value()) << "the peer may be of a release of before";
  const LinkHello hello = ask_hello();
  EXPECT_EQ(hello.voters, 3u);
  EXPECT_EQ(hello.stripes, kShardCount / kScanRows);
  EXPECT_EQ(hello.used, 0u);
  say_proxy(1);
  pass(500);
  EXPECT_EQ(peer_->heard()->epoch, 0u);
  ASSERT_TRUE(peer_->send(write_link_hello(hello)));
  say_proxy(1);
  EXPECT_TRUE(pass(500, [this] { return has_proxy(1); }));
}

TEST_F(ResidentEngineTest, APeerThatLaysItsLanesOutOtherwiseIsRefusedInWordsAndEndsNobody) {
  LinkHello other = ask_hello();
  other.stripes += 1;
  ASSERT_TRUE(peer_->send(write_link_hello(other)));
  say_proxy(1);
  pass(500);
  EXPECT_EQ(peer_->heard()->epoch, 0u);
  EXPECT_TRUE(engine_->failure().ok()) << engine_->failure().to_string();
  EXPECT_NE(logged().find("GC6731"), std::string::npos);
  EXPECT_NE(engine_->shard_channel(other_).find("refused: "), std::string::npos);
  // Its next life is another release, were it one of before.
  begin_life(2);
  say_proxy(1);
  EXPECT_TRUE(pass(500, [this] { return has_proxy(1); }));
}

TEST_F(ResidentEngineTest, AHelloThatNoNodeSaysIsDroppedAndCounted) {
  LinkHelloBytes bytes = write_link_hello({});
  ASSERT_TRUE(peer_->send(std::span{bytes}.first(kLinkHelloBytes - 1)));
  bytes[2] = std::byte{0};  // No layout of version 0.
  ASSERT_TRUE(peer_->send(bytes));
  pass(10);
  EXPECT_EQ(count(kDropped, "bad_field"), 2u);
}

TEST_F(ResidentEngineTest, APeerThatGaveMappingUpGetsAProxyAtOnce) {
  ready_.wish = ResidentPeers::Auto;
  ready_.mapping = Mapping::Failed;
  say_proxy(1);
  EXPECT_TRUE(pass(500, [this] { return has_proxy(1); }));
}

class LowerResidentEngineTest : public ResidentEngineTest {
 protected:
  LowerResidentEngineTest() : ResidentEngineTest(NodeId{1}) {}

  // The peer's half of a handshake; whatever comes of it, the node has mapped the peer's memory.
  void shake_hands() {
    ResidentJoin join({other_, {self_}, ready_.place.folder});
    join.seek(self_, folder_of("node"));
    auto found = join.take();
    while (!found.has_value()) {
      std::this_thread::yield();
      found = join.take();
    }
    netcore::MemoryRegistry registry{netcore::make_host_memory()};
    netcore::GpuNvlinkOptions options;
    options.cluster = ClusterId{77};
    options.self = other_;
    options.peer = self_;
    options.layout.band[static_cast<std::size_t>(Band::Consensus)] = {
        (kShardCount + kScanRows - 1) / kScanRows, 1024, 0};
    static_cast<void>(netcore::join_gpu_nvlink(registry, found->socket, options));
  }
};

// It believes in its mapping until it hears that the peer gave up, and goes by proxy then.
TEST_F(LowerResidentEngineTest, APeerThatCouldNotMapWhatThisNodeMappedGetsAProxy) {
  ready_.wish = ResidentPeers::Auto;
  ready_.mapping = Mapping::Possible;
  ready_.epoch_next = 1;
  const auto has_mapped = [this] { return peer_->heard()->way == ResidentLinkKind::Mapped; };
  std::thread peer([this] { shake_hands(); });
  // Looking for each other takes real time, and so it is that which passes.
  const auto began = std::chrono::steady_clock::now() - std::chrono::milliseconds{now_ms_};
  while (!has_mapped()) {
    const auto passed = std::chrono::steady_clock::now() - began;
    peer_->say(ready_);
    turn(static_cast<std::uint64_t>(passed / std::chrono::milliseconds{1}) - now_ms_);
  }
  peer.join();
  ready_.mapping = Mapping::Failed;
  EXPECT_TRUE(pass(2000, [this] {
    peer_->say(ready_);
    return has_proxy(2);
  }));
}

}  // namespace
}  // namespace gcoord::server
