#include "netcore/transport/simulated_network.h"

#include "tests/netcore/frame_samples.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gcoord::netcore {
namespace {

constexpr NodeId kA{1};
constexpr NodeId kB{2};

SimulatedLinkOptions rough() {
  return {
      .loss_ppm = 100'000, .duplicate_ppm = 100'000, .delay_ticks_min = 1, .delay_ticks_max = 9};
}

std::uint64_t hash_of_run(std::uint64_t seed, std::uint32_t extra_link_traffic) {
  SimulatedNetwork network{seed, rough()};
  std::uint64_t from_a = 0;
  for (std::uint64_t tick = 0; tick < 200; ++tick) {
    network.advance_to(Tick{tick});
    network.send(kA, kB, sample_bytes(static_cast<std::uint32_t>(tick), 20));
    for (std::uint32_t i = 0; i < extra_link_traffic; ++i) {
      network.send(NodeId{8}, NodeId{9}, sample_bytes(i, 8));
    }
    network.take_due([&](NodeId from, NodeId, std::span<const std::byte> bytes) {
      if (from == kA) {
        from_a = from_a * 31 + static_cast<std::uint64_t>(bytes[0]) + tick;
      }
    });
  }
  return from_a;
}

TEST(SimulatedNetwork, TheSameSeedReplaysAndAnotherDoesNot) {
  EXPECT_EQ(hash_of_run(3, 0), hash_of_run(3, 0));
  EXPECT_NE(hash_of_run(3, 0), hash_of_run(4, 0));
}

TEST(SimulatedNetwork, TheFateOfALinkDoesNotDependOnOtherLinks) {
  EXPECT_EQ(hash_of_run(3, 0), hash_of_run(3, 5));
}

TEST(SimulatedNetwork, DeliveryHashIsEqualForEqualRuns) {
  const auto run = [](std::uint64_t seed) {
    SimulatedNetwork network{seed, rough()};
    for (std::uint64_t tick = 0; tick < 100; ++tick) {
      network.advance_to(Tick{tick});
      network.send(kA, kB, sample_bytes(1, 8));
      network.take_due([](NodeId, NodeId, std::span<const std::byte>) {});
    }
    return network.delivery_hash();
  };
  EXPECT_EQ(run(11), run(11));
  EXPECT_NE(run(11), run(12));
}

TEST(SimulatedNetwork, EveryMessageIsDeliveredLostOrCut) {
  rc::check([](std::uint64_t seed) {
    SimulatedNetwork network{seed, rough()};
    for (std::uint64_t tick = 0; tick < 100; ++tick) {
      network.advance_to(Tick{tick});
      if (tick == 40) {
        network.cut(kA, kB);
      }
      if (tick == 60) {
        network.heal(kA, kB);
      }
      network.send(kA, kB, sample_bytes(1, 4));
      network.take_due([](NodeId, NodeId, std::span<const std::byte>) {});
    }
    network.advance_to(Tick{1000});
    network.take_due([](NodeId, NodeId, std::span<const std::byte>) {});
    const SimulatedCounts& counts = network.counts();
    RC_ASSERT(network.next_due() == kTickNever);
    RC_ASSERT(counts.sent + counts.duplicated == counts.delivered + counts.lost + counts.cut);
  });
}

TEST(SimulatedNetwork, ACutIsOneWayAndSwallowsWhatIsUnderWay) {
  SimulatedNetwork network{1};
  int at_a = 0;
  int at_b = 0;
  const auto count = [&](NodeId, NodeId to, std::span<const std::byte>) {
    ++(to == kA ? at_a : at_b);
  };
  network.send(kA, kB, sample_bytes(1, 4));
  network.cut(kA, kB);
  network.send(kB, kA, sample_bytes(1, 4));
  network.advance_to(Tick{5});
  network.take_due(count);
  EXPECT_EQ(at_a, 1);
  EXPECT_EQ(at_b, 0);
}

TEST(SimulatedNetwork, NothingArrivesBeforeItsDelay) {
  SimulatedNetwork network{1, {.delay_ticks_min = 3, .delay_ticks_max = 3}};
  int arrived = 0;
  network.send(kA, kB, sample_bytes(1, 4));
  network.advance_to(Tick{2});
  network.take_due([&](NodeId, NodeId, std::span<const std::byte>) { ++arrived; });
  EXPECT_EQ(arrived, 0);
  EXPECT_EQ(network.next_due(), Tick{3});
  network.advance_to(Tick{3});
  network.take_due([&](NodeId, NodeId, std::span<const std::byte>) { ++arrived; });
  EXPECT_EQ(arrived, 1);
}

TEST(SimulatedNetwork, ForgetsWhatWasUnderWayToADeadNode) {
  SimulatedNetwork network{1};
  network.send(kA, kB, sample_bytes(1, 4));
  network.forget(kB);
  EXPECT_EQ(network.next_due(), kTickNever);
}

}  // namespace
}  // namespace gcoord::netcore
