#include "netcore/gpu_channel/gpu_channel.h"

#include "tests/netcore/gpu_channel/lane_samples.h"

#include <gtest/gtest.h>

namespace gcoord::netcore {
namespace {

TEST(GpuChannel, GivesBackEveryRangeItRegistered) {
  MemoryRegistry registry{make_host_memory()};
  {
    GpuChannelOptions options;
    options.layout = sample_layout();
    options.epoch = 1;
    const auto pair = make_gpu_loopback(registry, options);
    ASSERT_TRUE(pair.ok());
    EXPECT_EQ(registry.ranges().size(), 6u);
    EXPECT_GE(registry.bytes_of(MemoryKind::Shared), 2 * region_bytes(options.layout));
  }
  EXPECT_TRUE(registry.ranges().empty());
}

TEST(GpuChannel, RefusesWhatIsNoLayout) {
  MemoryRegistry registry{make_host_memory()};
  GpuChannelOptions options;
  options.epoch = 1;
  EXPECT_EQ(GpuChannel::create(registry, options).status().code(), StatusCode::InvalidArgument);
  options.layout = sample_layout(1, 24);
  EXPECT_EQ(GpuChannel::create(registry, options).status().code(), StatusCode::InvalidArgument);
  options.layout = sample_layout();
  options.epoch = 0;
  EXPECT_EQ(GpuChannel::create(registry, options).status().code(), StatusCode::InvalidArgument);
}

TEST(GpuChannel, LanesOfAllBandsLieApartAndWithinTheRegion) {
  LaneLayoutOptions layout = sample_layout(3, 16);
  layout.band[3] = {2, 8, kPayloadRingBytesMin};
  ASSERT_TRUE(is_layout(layout));
  std::size_t end = grant_offset(lane_total(layout));
  for (std::size_t band = 0; band < kBandCount; ++band) {
    for (std::uint32_t lane = 0; lane < layout.band[band].lane_count; ++lane) {
      EXPECT_EQ(slots_offset(layout, static_cast<Band>(band), lane), end);
      EXPECT_EQ(end % kLineBytes, 0u);
      end += lane_bytes(layout.band[band]);
    }
  }
  EXPECT_EQ(end, region_bytes(layout));
}

TEST(GpuChannel, ALaneEndGoesOnWhereTheLastGroupLeftIt) {
  LoopbackSample world;
  for (std::uint32_t value = 0; value < 20; ++value) {
    LaneSender sender = open_sender(world.first(), Band::Consensus, 0);
    ASSERT_TRUE(send_one(sender, value));
    close_sender(world.first(), Band::Consensus, 0, sender);
    LaneReceiver receiver = open_receiver(world.second(), Band::Consensus, 0);
    const SlotTile tile = receiver.poll(1);
    ASSERT_TRUE(is_sample(tile, value));
    receiver.release(tile);
    close_receiver(world.second(), Band::Consensus, 0, receiver);
  }
  EXPECT_EQ(world.pair.second->counts().received.slots, 20u);
}

TEST(GpuChannel, TheNewestLivenessWordArrivesOnceAndStaleOnesNever) {
  LoopbackSample world;
  Heartbeat sent;
  sent.incarnation = Incarnation{3};
  sent.echoed_incarnation = Incarnation{4};
  sent.flags = 5;
  Heartbeat seen;
  std::uint32_t sequence = 0;
  EXPECT_FALSE(pull_heartbeat(world.second(), seen, sequence));
  for (std::uint64_t word = 1; word <= 3; ++word) {
    sent.send_tick = Tick{word << 33};
    sent.echoed_peer_send_tick = Tick{word << 34};
    push_heartbeat(world.first(), sent, word);
  }
  ASSERT_TRUE(pull_heartbeat(world.second(), seen, sequence));
  EXPECT_EQ(seen, sent);
  EXPECT_FALSE(pull_heartbeat(world.second(), seen, sequence));
  GpuChannelDevice past = world.first();
  past.epoch = kSampleEpoch - 1;
  push_heartbeat(past, sent, 4);
  EXPECT_FALSE(pull_heartbeat(world.second(), seen, sequence));
}

}  // namespace
}  // namespace gcoord::netcore
