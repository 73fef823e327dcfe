#include "netcore/gpu_channel/lane.h"

#include "tests/netcore/gpu_channel/lane_samples.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::netcore {
namespace {

constexpr Band kBand = Band::Consensus;

TEST(Lane, DeliversEveryKindOfTrafficInOrderAndNeverBeyondItsCredit) {
  rc::check([](const std::vector<std::uint8_t>& script) {
    LoopbackSample world;
    LaneSender sender = open_sender(world.first(), kBand, 0);
    LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
    std::deque<std::pair<std::uint32_t, std::uint32_t>> under_way;
    std::uint32_t value = 0;
    for (const std::uint8_t op : script) {
      const std::uint32_t payload = op % 4 == 1 ? op % 7 * 4096 / 2 : 0;
      if (op % 4 < 2) {
        if (send_one(sender, ++value, payload)) {
          under_way.emplace_back(value, payload);
        }
        // Two of eight slots are out of reach of data.
        RC_ASSERT(under_way.size() <= 8 - kControlReserveSlots);
        continue;
      }
      const SlotTile tile = receiver.poll(1);
      RC_ASSERT((tile.slot_count == 0) == under_way.empty());
      if (!under_way.empty()) {
        RC_ASSERT(is_sample(tile, under_way.front().first, under_way.front().second));
        under_way.pop_front();
        receiver.release(tile);
      }
    }
    RC_ASSERT(!sender.broken());
    RC_ASSERT(!receiver.broken());
  });
}

TEST(Lane, CreditIsConservedOverManyLaps) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), kBand, 0);
  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  for (std::uint32_t round = 0; round < 70'000; ++round) {  // Past the stamp's 16 bits of laps.
    std::uint32_t sent = 0;
    while (send_one(sender, round * 8 + sent)) {
      ++sent;
    }
    ASSERT_GE(sent, 4u) << "credit was lost by round " << round;
    for (std::uint32_t i = 0; i < sent; ++i) {
      const SlotTile tile = receiver.poll(1);
      ASSERT_TRUE(is_sample(tile, round * 8 + i));
      receiver.release(tile);
    }
    receiver.grant();
  }
  EXPECT_EQ(receiver.state().credit.received, sender.state().credit.sent);
}

TEST(Lane, ControlReachesIntoTheSlotsThatDataLeaves) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), Band::Control, 0);
  while (send_one(sender, 1)) {
  }
  EXPECT_EQ(sender.reserve(1, 0, CreditClass::Control).slot_count, 1u);
  EXPECT_EQ(sender.reserve(1, 0, CreditClass::Control).slot_count, 1u);
  EXPECT_EQ(sender.reserve(1, 0, CreditClass::Control).slot_count, 0u);
}

TEST(Lane, ALargestPayloadAlwaysFitsOnceTheReaderHasCaughtUp) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), kBand, 0);
  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  for (std::uint32_t round = 0; round < 200; ++round) {
    const std::uint32_t bytes = round % 2 == 0 ? kLanePayloadBytesMax : 16 * (round + 1);
    ASSERT_TRUE(send_one(sender, round, bytes)) << "round " << round;
    const SlotTile tile = receiver.poll(1);
    ASSERT_TRUE(is_sample(tile, round, bytes));
    receiver.release(tile);
  }
}

TEST(Lane, APayloadNeverCrossesTheEndOfItsRing) {
  constexpr std::uint32_t kCapacity = kPayloadRingBytesMin;
  for (std::uint64_t cursor = 0; cursor < 2 * kCapacity; cursor += kPayloadAlignment) {
    for (const std::uint32_t bytes : {1u, 128u, 129u, 4096u, kLanePayloadBytesMax}) {
      const PayloadAddress at = place_payload(cursor, bytes, kCapacity);
      ASSERT_GE(at.begin, cursor);
      ASSERT_LT(at.begin - cursor, kLanePayloadBytesMax);
      ASSERT_GE(at.end - at.begin, bytes);
      ASSERT_EQ(at.begin / kCapacity, (at.end - 1) / kCapacity) << cursor << " " << bytes;
      ASSERT_EQ(at.begin % kPayloadAlignment, 0u);
    }
  }
}

TEST(Lane, ACancelledReservationLeavesNoHole) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), kBand, 0);
  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  for (std::uint32_t round = 0; round < 100; ++round) {
    sender.cancel(sender.reserve(1, 4096));
    ASSERT_TRUE(send_one(sender, round, 32));
    const SlotTile tile = receiver.poll(1);
    ASSERT_TRUE(is_sample(tile, round, 32));
    receiver.release(tile);
  }
}

// The order that a device uses, under ThreadSanitizer in that preset: slots by their stamps,
// payloads by release and acquire, places by grants. It found the grant that was acquired by the
// half of its packet that never changes.
TEST(Lane, StreamsBetweenTwoThreadsWithoutAWrongWord) {
  for (const std::uint32_t payload : {0u, 1024u}) {
    LoopbackSample world{sample_layout(1, 64)};
    ProbeOptions options;
    options.slot_count = 20'000;
    options.payload_bytes = payload;
    options.seed = 11;
    options.timeout_ns = 120 * kSecondNs;
    ProbeResult sent;
    std::thread writer{[&] { sent = probe_send(world.first(), 0, options); }};
    const ProbeResult received = probe_receive(world.second(), 0, options);
    writer.join();
    EXPECT_EQ(sent.status, WaitStatus::Ready);
    EXPECT_EQ(received.status, WaitStatus::Ready);
    EXPECT_EQ(received.slots, options.slot_count);
    EXPECT_EQ(received.wrong_words, 0u);
    EXPECT_EQ(world.pair.second->counts().received.slots, options.slot_count);
    EXPECT_EQ(world.pair.first->counts().sent.slots, options.slot_count);
  }
}

TEST(Lane, AnEchoOfOneSlotAtATimeComesBackWhole) {
  LoopbackSample world;
  ProbeOptions options;
  options.slot_count = 2'000;
  options.timeout_ns = 120 * kSecondNs;
  std::vector<std::uint32_t> round_trips(options.slot_count);
  std::thread echo{[&] { probe_pong(world.second(), 0, options); }};
  const ProbeResult result = probe_ping(world.first(), 0, options, round_trips.data());
  echo.join();
  EXPECT_EQ(result.slots, options.slot_count);
  EXPECT_EQ(result.wrong_words, 0u);
}

TEST(Lane, SlotsOfAnEarlierEpochAreDroppedAndCountedOnceEach) {
  LoopbackSample world;
  SealedSlot* ring = ring_of(world.second(), kBand, 0);
  LoopbackSample past{sample_layout(), kSampleEpoch - 1};
  LaneSender old_sender = open_sender(past.first(), kBand, 0);
  ASSERT_TRUE(send_one(old_sender, 5));
  ring[0] = *ring_of(past.second(), kBand, 0);

  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(receiver.poll(1).slot_count, 0u);
  }
  EXPECT_EQ(world.pair.second->counts().received.stale_epoch, 1u);

  LaneSender sender = open_sender(world.first(), kBand, 0);
  ASSERT_TRUE(send_one(sender, 9));
  EXPECT_TRUE(is_sample(receiver.poll(1), 9));
  EXPECT_EQ(world.pair.second->fault(), DropReason::None);
}

TEST(Lane, AnEpochThatDiffersOnlyBeyondTheStampIsDroppedAndTheLaneGoesOn) {
  LoopbackSample world;
  LoopbackSample past{sample_layout(), kSampleEpoch + kEpochTagCount};
  LaneSender old_sender = open_sender(past.first(), kBand, 0);
  ASSERT_TRUE(send_one(old_sender, 5));
  ring_of(world.second(), kBand, 0)[0] = *ring_of(past.second(), kBand, 0);
  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  EXPECT_EQ(receiver.poll(1).slot_count, 0u);
  EXPECT_EQ(world.pair.second->counts().received.stale_epoch, 1u);
  EXPECT_EQ(receiver.state().credit.consumed, 1u);
  EXPECT_FALSE(receiver.broken());
}

TEST(Lane, APeerThatOverrunsItsCreditIsFoundOut) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), kBand, 0);
  ASSERT_TRUE(send_one(sender, 1));
  SealedSlot* ring = ring_of(world.second(), kBand, 0);
  for (Packet& packet : ring[0].packet) {
    packet.stamp = packet_stamp(kSampleEpoch, 1);  // Lap 1 over lap 0, which nobody has read.
  }
  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  EXPECT_EQ(receiver.poll(1).slot_count, 0u);
  EXPECT_TRUE(receiver.broken());
  EXPECT_EQ(world.pair.second->fault(), DropReason::CreditOverrun);
  EXPECT_EQ(world.pair.first->fault(), DropReason::None);
}

TEST(Lane, AGrantOfWhatWasNeverSentResetsTheChannel) {
  for (const bool of_payload : {false, true}) {
    LoopbackSample world;
    LaneSender sender = open_sender(world.first(), kBand, 0);
    Packet lie;
    lie.word[of_payload ? 1 : 0] = 1000;
    lie.word[2] = kSampleEpoch;
    lie.stamp = packet_stamp(kSampleEpoch, 0);
    SystemOrder::put(*wires_of(world.first(), kBand, 0).own_credit, lie);
    while (send_one(sender, 1)) {
    }
    EXPECT_TRUE(sender.broken());
    EXPECT_EQ(sender.reserve(1, 0, CreditClass::Control).slot_count, 0u);
    EXPECT_EQ(world.pair.first->fault(), DropReason::CreditOverrun);
  }
}

TEST(Lane, AGrantOfAnotherEpochIsNotBelieved) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), kBand, 0);
  Packet stale;
  stale.word[0] = 6;
  stale.word[2] = kSampleEpoch - 1;
  stale.stamp = packet_stamp(kSampleEpoch - 1, 0);
  SystemOrder::put(*wires_of(world.first(), kBand, 0).own_credit, stale);
  std::uint32_t sent = 0;
  while (send_one(sender, 1)) {
    ++sent;
  }
  EXPECT_EQ(sent, 8 - kControlReserveSlots);
  EXPECT_FALSE(sender.broken());
  EXPECT_EQ(world.pair.first->counts().sent.stale_epoch, 1u);
}

TEST(Lane, AnImpossiblePayloadLengthResetsTheChannel) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), kBand, 0);
  ASSERT_TRUE(send_one(sender, 1, 16));
  ring_of(world.second(), kBand, 0)[0].packet[kHeaderPart].word[kPayloadBytesWord] =
      kLanePayloadBytesMax + 1;
  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  EXPECT_EQ(receiver.poll(1).slot_count, 0u);
  EXPECT_EQ(world.pair.second->fault(), DropReason::BadLength);
}

// Whatever bytes a peer leaves in the memory that it may write: a receiver delivers what carries
// the right stamps or nothing, stays within its ring, and its neighbour channel does not notice.
TEST(Lane, GarbageInEveryWordOfARegionHarmsNobodyElse) {
  LoopbackSample bystander{sample_layout(1, 8)};
  LaneSender good_sender = open_sender(bystander.first(), kBand, 0);
  LaneReceiver good_receiver = open_receiver(bystander.second(), kBand, 0);
  std::uint32_t value = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    LoopbackSample world;
    const GpuChannelDevice end = world.second();
    LaneSender sender = open_sender(world.first(), kBand, 0);
    LaneReceiver receiver = open_receiver(end, kBand, 0);
    LaneSender back = open_sender(end, kBand, 0);
    for (std::uint32_t round = 0; round < 40; ++round) {
      const std::uint64_t word = random64(seed, round, 0);
      send_one(sender, round, word % 3 == 0 ? 64 : 0);
      // Anywhere in the grants and slots; often a plausible stamp.
      auto* packets = reinterpret_cast<Packet*>(end.own_region + kGrantsOffset);
      const auto count = static_cast<std::uint32_t>(
          (slots_offset(end.layout, kBand, 0) + 8 * sizeof(SealedSlot) - kGrantsOffset) / 16);
      Packet garbage;
      garbage.word[0] = static_cast<std::uint32_t>(random64(seed, round, 1));
      garbage.word[1] = static_cast<std::uint32_t>(random64(seed, round, 2)) % 20'000;
      garbage.word[2] = word % 2 == 0 ? kSampleEpoch : static_cast<std::uint32_t>(word);
      garbage.stamp = word % 5 < 3 ? packet_stamp(kSampleEpoch, word % 4)
                                   : static_cast<std::uint32_t>(word >> 32);
      SystemOrder::put(packets[random_below(random64(seed, round, 3), count)], garbage);
      const SlotTile tile = receiver.poll(1);
      ASSERT_LE(tile.payload_bytes, kLanePayloadBytesMax);
      ASSERT_TRUE(tile.payload_bytes == 0 ||
                  tile.payload + tile.payload_bytes <= end.own_region + region_bytes(end.layout));
      receiver.release(tile);
      send_one(back, round);
    }
    ASSERT_TRUE(send_one(good_sender, ++value));
    const SlotTile tile = good_receiver.poll(1);
    ASSERT_TRUE(is_sample(tile, value));
    good_receiver.release(tile);
  }
}

}  // namespace
}  // namespace gcoord::netcore
