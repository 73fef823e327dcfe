#include "netcore/channel/channel.h"

#include "netcore/memory/epoch.h"
#include "tests/netcore/frame_samples.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace gcoord::netcore {
namespace {

constexpr std::array<std::uint32_t, kBandCount> kRings = {8, 8192, 64, 64};

ChannelOptions options(std::uint32_t self, std::uint32_t peer) {
  ChannelOptions result;
  result.cluster = ClusterId{7};
  result.self = NodeId{self};
  result.peer = NodeId{peer};
  result.self_incarnation = Incarnation{self + 10};
  result.peer_incarnation = Incarnation{peer + 10};
  result.epoch = 5;
  result.own_ring_slots = kRings;
  result.peer_ring_slots = kRings;
  result.unsent_bytes_max = 4 << 20;
  return result;
}

struct Recorder final : ChannelEvents {
  void on_slots(Band band, std::span<const Slot> slots, const PayloadView& payloads) override {
    bands.push_back(band);
    slot_count += slots.size();
    for (const PayloadExtent extent : payloads) {
      payload_bytes += extent.bytes.size();
    }
  }

  void on_heartbeat(const Heartbeat& heartbeat) override { heartbeats.push_back(heartbeat); }

  std::vector<Band> bands;
  std::size_t slot_count = 0;
  std::size_t payload_bytes = 0;
  std::vector<Heartbeat> heartbeats;
};

std::vector<Slot> slots(std::size_t count) {
  return std::vector<Slot>(count, sample_slot(1));
}

// Takes out everything that `channel` wants to send, as owned frames.
std::vector<AlignedBytes> drain(Channel& channel, std::vector<std::size_t>& lengths) {
  std::vector<AlignedBytes> frames;
  std::array<std::span<const std::byte>, 16> list;
  for (std::size_t count = channel.collect(list); count != 0; count = channel.collect(list)) {
    for (std::size_t i = 0; i < count; ++i) {
      AlignedBytes& copy = frames.emplace_back(list[i].size());
      std::copy(list[i].begin(), list[i].end(), copy.data());
      lengths.push_back(list[i].size());
    }
    channel.taken(count);
  }
  return frames;
}

DropReason deliver(std::span<const std::byte> frame, Channel& to, Recorder& recorder) {
  FrameView view;
  const DropReason reason = decode_frame(frame, view);
  return reason == DropReason::None ? to.on_frame(view, recorder) : reason;
}

void carry(Channel& from, Channel& to, Recorder& recorder) {
  std::vector<std::size_t> lengths;
  const std::vector<AlignedBytes> frames = drain(from, lengths);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(deliver({frames[i].data(), lengths[i]}, to, recorder), DropReason::None);
  }
}

TEST(Channel, CarriesSlotsAndPayloadsInFrames) {
  Channel a{options(1, 2)};
  Channel b{options(2, 1)};
  Recorder at_b;
  const auto bytes = sample_bytes(3, 60'000);
  std::vector<PayloadExtent> extents;
  for (std::uint32_t i = 0; i < 30; ++i) {
    extents.push_back({i * 100, bytes});
  }
  ASSERT_TRUE(a.send(Band::Consensus, slots(5000), extents));
  EXPECT_GT(a.unsent_bytes(), 30u * 60'000u);
  carry(a, b, at_b);
  EXPECT_EQ(at_b.slot_count, 5000u);
  EXPECT_EQ(at_b.payload_bytes, 30u * 60'000u);
  EXPECT_EQ(a.unsent_bytes(), 0u);
}

TEST(Channel, RefusesASlotWhosePayloadExceedsAFrame) {
  Channel a{options(1, 2)};
  const auto bytes = sample_bytes(3, 64 * 1024);
  const std::vector<PayloadExtent> extents(17, PayloadExtent{0, bytes});
  EXPECT_FALSE(a.send(Band::Consensus, slots(1), extents));
  EXPECT_EQ(a.unsent_bytes(), 0u);
}

TEST(Channel, StopsAtTheCreditAndGoesOnAfterTheGrant) {
  Channel a{options(1, 2)};
  Channel b{options(2, 1)};
  Recorder at_a;
  Recorder at_b;
  EXPECT_EQ(a.credit(Band::Rpc), 62u);
  EXPECT_FALSE(a.send(Band::Rpc, slots(63), {}));
  ASSERT_TRUE(a.send(Band::Rpc, slots(62), {}));
  EXPECT_EQ(a.credit(Band::Rpc), 0u);
  EXPECT_FALSE(a.send(Band::Rpc, slots(1), {}));
  carry(a, b, at_b);
  carry(b, a, at_a);
  EXPECT_EQ(a.credit(Band::Rpc), 62u);
}

TEST(Channel, SlotsOfAHeldBandReturnNoCreditUntilItIsLetGo) {
  Channel a{options(1, 2)};
  Channel b{options(2, 1)};
  Recorder at_a;
  Recorder at_b;
  b.hold_credit(Band::Rpc, true);
  ASSERT_TRUE(a.send(Band::Rpc, slots(62), {}));
  ASSERT_TRUE(a.send(Band::Bulk, slots(1), {}));
  carry(a, b, at_b);
  carry(b, a, at_a);
  EXPECT_EQ(a.credit(Band::Rpc), 0u);
  b.hold_credit(Band::Rpc, true);
  carry(b, a, at_a);
  EXPECT_EQ(a.credit(Band::Rpc), 0u);
  b.hold_credit(Band::Rpc, false);
  carry(b, a, at_a);
  EXPECT_EQ(a.credit(Band::Rpc), 62u);
}

TEST(Channel, RepeatsAGrantThatTheTransportDidNotTake) {
  Channel a{options(1, 2)};
  Channel b{options(2, 1)};
  Recorder at_a;
  Recorder at_b;
  ASSERT_TRUE(a.send(Band::Rpc, slots(62), {}));
  carry(a, b, at_b);
  std::array<std::span<const std::byte>, 16> list;
  ASSERT_EQ(b.collect(list), 1u);
  b.taken(0);
  carry(b, a, at_a);
  EXPECT_EQ(a.credit(Band::Rpc), 62u);
}

TEST(Channel, BothSidesFullStillReturnCredit) {
  Channel a{options(1, 2)};
  Channel b{options(2, 1)};
  Recorder at_a;
  Recorder at_b;
  for (const Band band : {Band::Control, Band::Consensus, Band::Rpc, Band::Bulk}) {
    ASSERT_TRUE(a.send(band, slots(a.credit(band)), {}));
    ASSERT_TRUE(b.send(band, slots(b.credit(band)), {}));
  }
  carry(a, b, at_b);
  carry(b, a, at_a);
  carry(a, b, at_b);
  for (const Band band : {Band::Control, Band::Consensus, Band::Rpc, Band::Bulk}) {
    EXPECT_GE(a.credit(band) + kControlReserveSlots, kRings[static_cast<std::size_t>(band)] / 2);
    EXPECT_GE(b.credit(band) + kControlReserveSlots, kRings[static_cast<std::size_t>(band)] / 2);
  }
}

TEST(Channel, SendsControlBeforeConsensusBeforeTheRest) {
  Channel a{options(1, 2)};
  Channel b{options(2, 1)};
  Recorder at_b;
  ASSERT_TRUE(a.send(Band::Bulk, slots(1), {}));
  ASSERT_TRUE(a.send(Band::Rpc, slots(1), {}));
  ASSERT_TRUE(a.send(Band::Consensus, slots(1), {}));
  ASSERT_TRUE(a.send(Band::Control, slots(1), {}));
  a.heartbeat({});
  std::array<std::span<const std::byte>, 16> list;
  ASSERT_EQ(a.collect(list), 5u);
  FrameView first;
  ASSERT_EQ(decode_frame(list[0], first), DropReason::None);
  EXPECT_EQ(first.header.kind, FrameKind::Heartbeat);
  carry(a, b, at_b);
  EXPECT_EQ(at_b.bands, (std::vector{Band::Control, Band::Consensus, Band::Rpc, Band::Bulk}));
}

TEST(Channel, GivesRpcFourTimesTheBytesOfBulk) {
  Channel a{options(1, 2)};
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(a.send(Band::Bulk, slots(1), {}));
    ASSERT_TRUE(a.send(Band::Rpc, slots(1), {}));
  }
  Channel b{options(2, 1)};
  Recorder at_b;
  carry(a, b, at_b);
  const auto rpc = std::count(at_b.bands.begin(), at_b.bands.begin() + 10, Band::Rpc);
  EXPECT_EQ(rpc, 8);
}

TEST(Channel, OnlyTheNewestHeartbeatLeaves) {
  Channel a{options(1, 2)};
  Channel b{options(2, 1)};
  Recorder at_b;
  a.heartbeat({.send_tick = Tick{1}});
  a.heartbeat({.send_tick = Tick{2}, .flags = 9});
  carry(a, b, at_b);
  ASSERT_EQ(at_b.heartbeats.size(), 1u);
  EXPECT_EQ(at_b.heartbeats[0], (Heartbeat{.send_tick = Tick{2}, .flags = 9}));
}

TEST(Channel, AnOvertakenHeartbeatIsStale) {
  Channel a{options(1, 2)};
  Channel b{options(2, 1)};
  Recorder at_b;
  std::vector<std::size_t> lengths;
  a.heartbeat({.send_tick = Tick{1}});
  const auto older = drain(a, lengths);
  a.heartbeat({.send_tick = Tick{2}});
  const auto newer = drain(a, lengths);
  EXPECT_EQ(deliver({newer[0].data(), lengths[1]}, b, at_b), DropReason::None);
  EXPECT_EQ(deliver({older[0].data(), lengths[0]}, b, at_b), DropReason::StaleSequence);
  EXPECT_EQ(at_b.heartbeats.size(), 1u);
}

TEST(Channel, AReplayedFrameIsAppliedOnce) {
  Channel a{options(1, 2)};
  Channel b{options(2, 1)};
  Recorder at_b;
  std::vector<std::size_t> lengths;
  ASSERT_TRUE(a.send(Band::Rpc, slots(3), {}));
  const auto frames = drain(a, lengths);
  EXPECT_EQ(deliver({frames[0].data(), lengths[0]}, b, at_b), DropReason::None);
  EXPECT_EQ(deliver({frames[0].data(), lengths[0]}, b, at_b), DropReason::StaleSequence);
  EXPECT_EQ(at_b.slot_count, 3u);
}

TEST(Channel, AFrameOfAnEarlierEpochOrLifeIsStale) {
  ChannelOptions earlier = options(1, 2);
  earlier.epoch = 4;
  Channel b{options(2, 1)};
  Recorder at_b;
  Channel a_earlier{earlier};
  ASSERT_TRUE(a_earlier.send(Band::Rpc, slots(1), {}));
  std::vector<std::size_t> lengths;
  auto frames = drain(a_earlier, lengths);
  EXPECT_EQ(deliver({frames[0].data(), lengths[0]}, b, at_b), DropReason::StaleEpoch);
  EXPECT_EQ(at_b.slot_count, 0u);
}

TEST(Channel, AFrameOfAnEarlierEpochIsStaleAlsoWhenEpochsHaveGoneRound) {
  ChannelOptions before = options(1, 2);
  before.epoch = kEpochCount;
  ChannelOptions after = options(2, 1);
  after.epoch = epoch_after(kEpochCount);
  Channel a{before};
  Channel b{after};
  Recorder at_b;
  std::vector<std::size_t> lengths;
  ASSERT_TRUE(a.send(Band::Rpc, slots(1), {}));
  const auto frames = drain(a, lengths);
  EXPECT_EQ(deliver({frames[0].data(), lengths[0]}, b, at_b), DropReason::StaleEpoch);
  EXPECT_EQ(at_b.slot_count, 0u);
}

TEST(Channel, AFrameOfAnotherNodeOrClusterIsRefused) {
  Channel b{options(2, 1)};
  Recorder at_b;
  Channel stranger{options(3, 2)};
  ChannelOptions foreign = options(1, 2);
  foreign.cluster = ClusterId{8};
  Channel other_cluster{foreign};
  std::vector<std::size_t> lengths;
  ASSERT_TRUE(stranger.send(Band::Rpc, slots(1), {}));
  ASSERT_TRUE(other_cluster.send(Band::Rpc, slots(1), {}));
  const auto first = drain(stranger, lengths);
  const auto second = drain(other_cluster, lengths);
  EXPECT_EQ(deliver({first[0].data(), lengths[0]}, b, at_b), DropReason::WrongNode);
  EXPECT_EQ(deliver({second[0].data(), lengths[1]}, b, at_b), DropReason::WrongCluster);
}

TEST(Channel, SlotsBeyondTheGrantAreRefusedWhole) {
  ChannelOptions greedy = options(1, 2);
  greedy.peer_ring_slots = {8, 8192, 1024, 64};
  Channel a{greedy};
  Channel b{options(2, 1)};
  Recorder at_b;
  ASSERT_TRUE(a.send(Band::Rpc, slots(100), {}));
  std::vector<std::size_t> lengths;
  const auto frames = drain(a, lengths);
  EXPECT_EQ(deliver({frames[0].data(), lengths[0]}, b, at_b), DropReason::CreditOverrun);
  EXPECT_EQ(at_b.slot_count, 0u);
}

TEST(Channel, AHeartbeatBringsBackTheCreditOfALostBurst) {
  Channel a{options(1, 2)};
  Channel b{options(2, 1)};
  Recorder at_a;
  Recorder at_b;
  ASSERT_TRUE(a.send(Band::Rpc, slots(62), {}));
  std::vector<std::size_t> lengths;
  drain(a, lengths);
  EXPECT_EQ(a.credit(Band::Rpc), 0u);
  a.heartbeat({});
  carry(a, b, at_b);
  b.heartbeat({});
  carry(b, a, at_a);
  EXPECT_EQ(a.credit(Band::Rpc), 62u);
  EXPECT_EQ(b.lost_slots(), 62u);
}

TEST(Channel, AHeartbeatThatOvertakesQueuedSlotsDoesNotLoseThem) {
  Channel a{options(1, 2)};
  Channel b{options(2, 1)};
  Recorder at_b;
  ASSERT_TRUE(a.send(Band::Rpc, slots(10), {}));
  a.heartbeat({});
  carry(a, b, at_b);
  EXPECT_EQ(at_b.slot_count, 10u);
  EXPECT_EQ(b.lost_slots(), 0u);
}

TEST(Channel, RefusesToQueueBeyondItsBytes) {
  ChannelOptions small = options(1, 2);
  small.unsent_bytes_max = 10'000;
  Channel a{small};
  EXPECT_FALSE(a.send(Band::Consensus, slots(200), {}));
  ASSERT_TRUE(a.send(Band::Consensus, slots(150), {}));
  EXPECT_FALSE(a.send(Band::Consensus, slots(10), {}));
}

}  // namespace
}  // namespace gcoord::netcore
