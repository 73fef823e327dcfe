// A pair of nodes never runs out of epochs, though somebody claims the last one in a node's name.
#include "netcore/memory/epoch.h"
#include "netcore/transport/greeting.h"
#include "tests/netcore/loopback_world.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

namespace gcoord::netcore {
namespace {

// Greets node 1 as node 2 would, in an earlier life of it.
class Forger final : private LinkEvents {
 public:
  explicit Forger(LoopbackFabric& fabric)
      : transport_(fabric.endpoint()), link_(transport_->connect("fabric", 1).value()) {}

  void greet(const PeerNetworkOptions& as, std::uint32_t epoch) {
    Greeting hello;
    hello.from.cluster = as.cluster;
    hello.from.node = as.node;
    hello.from.incarnation = as.incarnation;
    hello.from.directory = as.directory;
    hello.from.settings = as.settings;
    hello.to = NodeId{1};
    hello.epoch = epoch;
    hello.ring_slots = as.ring_slots;
    std::array<std::byte, kGreetingBytes> bytes;
    encode_greeting(FrameKind::Hello, hello, bytes);
    const std::span<const std::byte> message{bytes};
    EXPECT_EQ(transport_->send(link_, {&message, 1}), 1u);
  }

  void progress() { transport_->progress(0, *this); }

  bool open = false;

 private:
  void on_accepted(LinkId, std::string_view) override {}

  void on_connected(LinkId) override { open = true; }

  void on_message(LinkId, std::span<const std::byte>) override {}

  void on_closed(LinkId, DropReason, std::string_view) override {}

  std::unique_ptr<Transport> transport_;
  LinkId link_;
};

class EpochsTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  PeerNetworkOptions life(std::uint32_t number) {
    PeerNetworkOptions options = world_.options(2);
    options.incarnation = Incarnation{number};
    return options;
  }

  const std::vector<std::pair<NodeId, std::uint32_t>>& ups() { return world_.nodes[0].sink.ups; }

  LoopbackWorld world_{2};
};

TEST_P(EpochsTest, APairReconnectsWhateverEpochWasClaimed) {
  world_.nodes[1].network.reset();
  {
    Forger forger{world_.fabric};
    const auto run = [&](const std::function<bool()>& done) {
      return world_.run([&] {
        forger.progress();
        return done();
      });
    };
    ASSERT_TRUE(run([&] { return forger.open; }));
    forger.greet(life(1), GetParam());
    ASSERT_TRUE(run([&] { return !ups().empty(); }));
    EXPECT_EQ(ups().back().second, GetParam());
  }
  for (std::uint32_t number = 2; number < 6; ++number) {
    const std::size_t before = ups().size();
    world_.nodes[1].sink.live = 0;
    world_.start(life(number));
    ASSERT_TRUE(
        world_.run([&] { return ups().size() > before && world_.nodes[1].sink.live == 1; }));
    EXPECT_TRUE(is_later_epoch(ups()[before].second, ups()[before - 1].second));
    EXPECT_EQ(world_.nodes[1].sink.ups.back().second, ups().back().second);
  }
}

INSTANTIATE_TEST_SUITE_P(Claims,
                         EpochsTest,
                         testing::Values(kEpochMax, kEpochMax - 2, kEpochMax / 2, 100'000u));

}  // namespace
}  // namespace gcoord::netcore
