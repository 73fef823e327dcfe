// What every real transport must do, on sockets of this host: carry whole messages in order, sleep
// when idle, notice a killed peer at once, come back under a new epoch and leak nothing.
#include "netcore/transport/transport.h"

#include "common/random.h"
#include "netcore/transport/greeting.h"
#include "netcore/transport/tcp_socket.h"
#include "netcore/transport/transport_tcp.h"
#include "netcore/transport/transport_ucx.h"
#include "netcore/transport/ucx_library.h"
#include "tests/netcore/frame_samples.h"
#include "tests/netcore/held_port.h"
#include "tests/netcore/network_world.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

namespace gcoord::netcore {
namespace {

struct Kind {
  const char* name;
  const char* ucx_transports;  // nullptr for plain TCP.
};

// Names the case in reports.
void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

std::unique_ptr<Transport> make(const Kind& kind) {
  if (kind.ucx_transports == nullptr) {
    return make_tcp_transport();
  }
  auto transport = make_ucx_transport({kind.ucx_transports, ""});
  EXPECT_TRUE(transport.ok()) << transport.status().to_string();
  return transport.ok() ? std::move(transport).value() : nullptr;
}

class TransportTest : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    const bool needs_ucx = GetParam().ucx_transports != nullptr;
    if (needs_ucx && !load_ucx_library().ok()) {
      GTEST_SKIP() << load_ucx_library().status().to_string();
    }
  }

  // Node 1 calls node 2; node 2 only answers. Without a silence limit only the transport itself can
  // notice a death.
  void start_answerer(TestNode& node, std::uint32_t life) const {
    PeerNetworkOptions options = node_options(2, {{NodeId{1}, "127.0.0.1", 0}});
    options.incarnation = Incarnation{life};
    options.silence_limit_ms = 0;
    options.listen_port = port_of_answerer_.port();
    options.transport = make(GetParam());
    node.network = must_create(std::move(options));
  }

  void start_caller(TestNode& node) const {
    PeerNetworkOptions options =
        node_options(1, {{NodeId{2}, "127.0.0.1", port_of_answerer_.port()}});
    options.silence_limit_ms = 0;
    options.transport = make(GetParam());
    node.network = must_create(std::move(options));
  }

  void start_both() {
    start_answerer(answerer_, 1);
    start_caller(caller_);
    ASSERT_TRUE(run([&] { return caller_.sink.live == 1 && answerer_.sink.live == 1; }));
  }

  bool run(const std::function<bool()>& done) { return run_awake({&caller_, &answerer_}, done); }

  TestNode caller_;
  TestNode answerer_;
  const HeldPort port_of_answerer_;
};

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator entries{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

Slot numbered(std::uint32_t number) {
  Slot slot{};
  std::memcpy(slot.bytes, &number, sizeof(number));
  return slot;
}

TEST(TcpSocket, APortThatIsTakenIsAFailureWithANumberAndTheAddress) {
  SocketAddress address;
  ASSERT_TRUE(parse_numeric_address("127.0.0.1", 0, address));
  std::uint16_t port = 0;
  const auto first = listen_socket(address, port);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(parse_numeric_address("127.0.0.1", port, address));
  const auto second = listen_socket(address, port);
  EXPECT_EQ(second.status().detail(), kListenFailed);
  EXPECT_NE(second.status().message().find(to_string(address)), std::string::npos);
}

TEST_P(TransportTest, CarriesLargeAndSmallFramesInOrderBothWays) {
  start_both();

  struct Ordered final : Sink {
    void on_frame(NodeId, Band, std::span<const Slot> slots, const PayloadView& payloads) override {
      for (const Slot& slot : slots) {
        std::uint32_t number = 0;
        std::memcpy(&number, slot.bytes, sizeof(number));
        in_order = in_order && number == next++;
      }
      for (const PayloadExtent extent : payloads) {
        payload_bytes += extent.bytes.size();
      }
    }

    void on_heartbeat(NodeId, const Heartbeat&) override {}

    void on_peer_up(NodeId, Incarnation, std::uint32_t) override {}

    void on_peer_down(NodeId, std::string_view) override { in_order = false; }

    std::uint32_t next = 0;
    bool in_order = true;
    std::size_t payload_bytes = 0;
  };

  constexpr std::uint32_t kSends = 400;
  Ordered at_caller;
  Ordered at_answerer;
  const auto bytes = sample_bytes(1, 60'000);
  const auto feed = [&](PeerNetwork& network, NodeId to, std::uint32_t& sent) {
    // Every seventh send is large: it goes by rendezvous where there is one.
    while (sent < kSends) {
      const Slot slot = numbered(sent);
      const std::vector<PayloadExtent> large(sent % 7 == 0 ? 5 : 0, PayloadExtent{0, bytes});
      if (!network.send(to, Band::Consensus, {&slot, 1}, large)) {
        return;
      }
      ++sent;
    }
  };
  std::uint32_t sent_by_caller = 0;
  std::uint32_t sent_by_answerer = 0;
  const std::string route = GetParam().ucx_transports == nullptr ? "tcp:" : "ucx:";
  ASSERT_TRUE(run([&] {
    return caller_.network->status()[0].transport.starts_with(route) &&
           answerer_.network->status()[0].transport.starts_with(route);
  })) << caller_.network->status()[0].transport;
  for (const std::uint64_t start = wall_ms(); wall_ms() - start < 60'000;) {
    feed(*caller_.network, NodeId{2}, sent_by_caller);
    feed(*answerer_.network, NodeId{1}, sent_by_answerer);
    caller_.network->progress(wall_ms(), at_caller);
    answerer_.network->progress(wall_ms(), at_answerer);
    if (at_caller.next == kSends && at_answerer.next == kSends) {
      break;
    }
  }
  EXPECT_EQ(at_caller.next, kSends);
  EXPECT_EQ(at_answerer.next, kSends);
  EXPECT_TRUE(at_caller.in_order);
  EXPECT_TRUE(at_answerer.in_order);
  EXPECT_EQ(at_caller.payload_bytes, 58u * 5u * 60'000u);
  EXPECT_EQ(at_answerer.payload_bytes, 58u * 5u * 60'000u);
}

TEST_P(TransportTest, AHostMayBeAName) {
  start_answerer(answerer_, 1);
  PeerNetworkOptions options =
      node_options(1, {{NodeId{2}, "localhost", answerer_.network->listen_port()}});
  options.transport = make(GetParam());
  caller_.network = must_create(std::move(options));
  ASSERT_TRUE(run([&] { return caller_.sink.live == 1; }));
}

TEST_P(TransportTest, AnIdlePairSleeps) {
  start_both();
  // Let the set-up talk end.
  answerer_.network->heartbeat(NodeId{1}, {});
  ASSERT_TRUE(run([&] { return !caller_.sink.heartbeats.empty(); }));
  int wake_ups = 0;
  constexpr int kWindows = 20;
  for (int i = 0; i < kWindows; ++i) {
    for (TestNode* node : {&caller_, &answerer_}) {
      node->network->progress(wall_ms(), node->sink);
      if (!node->network->arm()) {
        ++wake_ups;
        continue;
      }
      pollfd fd{node->network->event_fd(), POLLIN, 0};
      wake_ups += ::poll(&fd, 1, 10) != 0 ? 1 : 0;
    }
  }
  EXPECT_LE(wake_ups, 4) << "of " << 2 * kWindows;
}

TEST_P(TransportTest, AMessageWakesASleeper) {
  start_both();
  ASSERT_TRUE(run([&] { return caller_.network->arm() && answerer_.network->arm(); }));
  for (std::uint64_t i = 1; i <= 50; ++i) {
    const Slot slot = numbered(1);
    ASSERT_TRUE(caller_.network->send(NodeId{2}, Band::Rpc, {&slot, 1}));
    caller_.network->flush();
    ASSERT_TRUE(run([&] { return answerer_.sink.slot_count == i; }));
  }
}

TEST_P(TransportTest, TwoHundredReconnectsRaiseTheEpochAndLeakNothing) {
  start_both();
  std::size_t descriptors_after_first = 0;
  constexpr std::uint32_t kLives = 200;
  for (std::uint32_t life = 2; life <= kLives + 1; ++life) {
    answerer_.network.reset();
    answerer_.sink = {};
    start_answerer(answerer_, life);
    ASSERT_TRUE(run([&] { return caller_.sink.ups.size() == life && answerer_.sink.live == 1; }))
        << life;
    const Slot slot = numbered(life);
    ASSERT_TRUE(caller_.network->send(NodeId{2}, Band::Rpc, {&slot, 1}));
    ASSERT_TRUE(run([&] { return answerer_.sink.slot_count == 1; })) << life;
    if (life == 5) {
      descriptors_after_first = open_descriptors();
    }
  }
  EXPECT_LE(open_descriptors(), descriptors_after_first + 4);
  const auto& ups = caller_.sink.ups;
  for (std::size_t i = 1; i < ups.size(); ++i) {
    ASSERT_GT(ups[i].second, ups[i - 1].second);
  }
}

TEST_P(TransportTest, AKilledPeerIsNoticedWithoutAnyLimitOfTime) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    start_answerer(answerer_, 1);
    run_awake({&answerer_}, [] { return false; });
    ::_exit(0);
  }
  start_caller(caller_);
  ASSERT_TRUE(run_awake({&caller_}, [&] { return caller_.sink.live == 1; }));
  const std::vector<Slot> slots(64, numbered(1));
  for (int i = 0; i < 20; ++i) {
    caller_.network->send(NodeId{2}, Band::Consensus, slots);
  }
  caller_.network->flush();
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_TRUE(run_awake({&caller_}, [&] { return !caller_.sink.downs.empty(); }));
  EXPECT_FALSE(caller_.network->is_up(NodeId{2}));

  start_answerer(answerer_, 2);
  ASSERT_TRUE(run([&] { return caller_.sink.live == 1 && answerer_.sink.live == 1; }));
  EXPECT_GT(caller_.sink.ups[1].second, caller_.sink.ups[0].second);
}

// Somebody who is not a node, on the peer port.
class Intruder {
 public:
  explicit Intruder(std::uint16_t port) {
    SocketAddress address;
    EXPECT_TRUE(parse_numeric_address("127.0.0.1", port, address));
    auto socket = connect_socket(address);
    EXPECT_TRUE(socket.ok());
    fd_ = std::move(socket).value();
    pollfd writable{fd_.get(), POLLOUT, 0};
    ::poll(&writable, 1, -1);
  }

  void say(std::span<const std::byte> bytes) {
    static_cast<void>(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }

  // True once the other side has closed.
  bool is_shut_out() {
    std::byte byte;
    const ssize_t count = ::recv(fd_.get(), &byte, 1, 0);
    return count == 0 || (count < 0 && errno != EAGAIN);
  }

 private:
  FileDescriptor fd_;
};

std::uint64_t stranger_drops(const TestNode& node) {
  const auto& drops = node.network->dropped_from_strangers();
  return std::accumulate(drops.begin(), drops.end(), std::uint64_t{0});
}

TEST_P(TransportTest, GarbageOnThePeerPortIsShutOutAndCountedWhileTheChannelLives) {
  start_both();
  std::vector<std::vector<std::byte>> sayings;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    std::vector<std::byte>& saying = sayings.emplace_back(64 + 97 * seed);
    for (std::size_t i = 0; i < saying.size(); ++i) {
      saying[i] = static_cast<std::byte>(random64(seed, 1, i));
    }
  }
  // A whole frame that is no greeting, one that claims to be long, and one cut short in its body.
  const SampleFrame stray = make_sample(2);
  sayings.emplace_back(stray.span().begin(), stray.span().end());
  const SampleFrame bomb = make_sample(4000);
  sayings.emplace_back(bomb.span().begin(), bomb.span().begin() + kFrameHeaderBytes);
  for (const auto& saying : sayings) {
    const std::uint64_t drops_before = stranger_drops(answerer_);
    Intruder intruder{port_of_answerer_.port()};
    intruder.say(saying);
    ASSERT_TRUE(run([&] { return intruder.is_shut_out(); }));
    EXPECT_EQ(stranger_drops(answerer_), drops_before + 1);
  }
  const Slot slot = numbered(1);
  ASSERT_TRUE(caller_.network->send(NodeId{2}, Band::Rpc, {&slot, 1}));
  ASSERT_TRUE(run([&] { return answerer_.sink.slot_count == 1; }));
  EXPECT_TRUE(caller_.sink.downs.empty());
}

TEST_P(TransportTest, HalfOpenAndSlowStrangersAreBoundedInNumberAndTime) {
  start_both();
  const SampleFrame stray = make_sample(1);
  std::vector<std::unique_ptr<Intruder>> intruders;
  for (int i = 0; i < 80; ++i) {
    intruders.push_back(std::make_unique<Intruder>(port_of_answerer_.port()));
    if (i % 2 == 0) {
      intruders.back()->say(stray.span().first(1 + static_cast<std::size_t>(i) / 2));
    }
  }
  const auto& drops = answerer_.network->dropped_from_strangers();
  const auto dropped = [&](DropReason reason) { return drops[static_cast<std::size_t>(reason)]; };
  ASSERT_TRUE(run([&] { return dropped(DropReason::TooManyStrangers) == 16; }));
  // The others run into the time limit, on the node's own clock.
  const std::uint64_t later = wall_ms() + 10'000;
  answerer_.network->progress(later, answerer_.sink);
  EXPECT_EQ(dropped(DropReason::GreetingTimeout), 64u);
  EXPECT_TRUE(answerer_.network->is_up(NodeId{1}));
}

TEST_P(TransportTest, ABrokenFrameAfterAGoodGreetingClosesTheChannel) {
  start_both();
  MemorySink& sink = caller_.sink;
  // A peer that greets well and then sends a frame under another node's name.
  Greeting hello;
  hello.from = {ClusterId{42}, NodeId{1}, Incarnation{2}, DirectoryId{1000}};
  hello.to = NodeId{2};
  hello.epoch = 1;
  hello.ring_slots = {8, 8, 8, 8};
  std::array<std::byte, kGreetingBytes> greeting;
  encode_greeting(FrameKind::Hello, hello, greeting);
  const SampleFrame stray = make_sample(2);
  Intruder intruder{port_of_answerer_.port()};
  intruder.say(greeting);
  ASSERT_TRUE(run([&] { return answerer_.sink.ups.size() == 2; }));
  intruder.say(stray.span());
  ASSERT_TRUE(run([&] { return answerer_.sink.downs.size() == 2; }));
  EXPECT_NE(answerer_.sink.downs[1].second.find("protocol"), std::string::npos);
  EXPECT_EQ(answerer_.sink.slot_count, 0u);
  const PeerStatus row = answerer_.network->status()[0];
  EXPECT_EQ(row.traffic.dropped[static_cast<std::size_t>(DropReason::WrongCluster)], 1u);
  // The forger spoke for a later life, so the true node 1 counts as old now and is told so.
  ASSERT_TRUE(run([&] { return sink.refusal == RefusalCode::OldIncarnation; }));
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         TransportTest,
                         testing::Values(Kind{"Tcp", nullptr},
                                         Kind{"UcxSharedMemory", "sm,self"},
                                         Kind{"UcxTcp", "tcp,self"}),
                         [](const auto& test) { return std::string{test.param.name}; });

}  // namespace
}  // namespace gcoord::netcore
