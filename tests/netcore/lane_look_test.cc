// A look at a lane says what the lane's end then does, whatever a peer leaves in memory.
#include "netcore/lane_look.h"

#include "lane_samples.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gcoord::netcore {
namespace {

constexpr Band kBand = Band::Consensus;

LaneLook look_of(const GpuChannelDevice& end, const LaneReceiver& receiver) {
  return look_at(receiver_view(wires_of(end, kBand, 0), receiver.state()));
}

LaneLook look_of(const GpuChannelDevice& end, const LaneSender& sender, const SenderWants& wants) {
  return look_at(sender_view(wires_of(end, kBand, 0), sender.state(), wants));
}

// What the receiver did with the place in front.
LaneLook done_by(LaneReceiver& receiver) {
  const std::uint64_t before = receiver.state().credit.received;
  const SlotTile tile = receiver.poll(1);
  receiver.release(tile);
  if (receiver.broken()) {
    return LaneLook::Broken;
  }
  return receiver.state().credit.received == before + 1 ? LaneLook::Ready : LaneLook::Nothing;
}

LaneLook done_by(LaneSender& sender, const SenderWants& wants) {
  const Reservation place = sender.reserve(1, wants.payload_bytes, wants.kind);
  const bool found = place.slot_count != 0;
  if (found) {
    sender.cancel(place);
  }
  return sender.broken() ? LaneLook::Broken : found ? LaneLook::Ready : LaneLook::Nothing;
}

// A packet that is often nearly right.
Packet garbage_of(std::uint64_t seed, std::uint64_t round) {
  const std::uint64_t word = random64(seed, round, 0);
  Packet garbage;
  garbage.word[0] = static_cast<std::uint32_t>(random64(seed, round, 1) % 24);
  garbage.word[1] = static_cast<std::uint32_t>(random64(seed, round, 2)) % 20'000;
  garbage.word[2] = (word >> 4) % 4 != 0 ? kSampleEpoch : static_cast<std::uint32_t>(word >> 8);
  garbage.stamp = word % 5 < 3 ? packet_stamp(kSampleEpoch, word % 4)
                               : static_cast<std::uint32_t>(word >> 32) * (word % 2);
  return garbage;
}

TEST(LaneLook, Row213AReceiversLookAgreesWithWhatItThenTakes) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), kBand, 0);
  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  EXPECT_EQ(look_of(world.second(), receiver), LaneLook::Nothing);
  for (std::uint32_t round = 0; round < 1'000; ++round) {
    const std::uint32_t payload = round % 3 == 0 ? 4'096 : 0;
    ASSERT_TRUE(send_one(sender, round, payload));
    EXPECT_EQ(look_of(world.second(), receiver), LaneLook::Ready);
    const SlotTile tile = receiver.poll(1);
    ASSERT_TRUE(is_sample(tile, round, payload));
    receiver.release(tile);
    EXPECT_EQ(look_of(world.second(), receiver), LaneLook::Nothing);
  }
}

TEST(LaneLook, Row213ASlotIsReadyWhenItsLastPacketIsThere) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), kBand, 0);
  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  ASSERT_TRUE(send_one(sender, 1));
  SealedSlot* ring = ring_of(world.second(), kBand, 0);
  const SealedSlot whole = ring[0];
  for (std::uint32_t part = 0; part < kSlotPackets; ++part) {
    ring[0] = whole;
    ring[0].packet[part] = Packet{};
    EXPECT_EQ(look_of(world.second(), receiver), LaneLook::Nothing) << "packet " << part;
  }
  ring[0] = whole;
  EXPECT_EQ(look_of(world.second(), receiver), LaneLook::Ready);
}

TEST(LaneLook, Row213ASendersLookAgreesWithWhatItThenFinds) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), kBand, 0);
  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  const SenderWants with_payload{1, kLanePayloadBytesMax};
  for (std::uint32_t round = 0; round < 2'000; ++round) {
    const std::uint64_t word = random64(5, round, 0);
    if (word % 2 == 0) {
      send_one(sender, round, word % 4 == 0 ? kLanePayloadBytesMax : 0);
    } else {
      receiver.release(receiver.poll(1));
    }
    for (const SenderWants& wants :
         {SenderWants{1, 0}, SenderWants{1, 0, CreditClass::Control}, with_payload}) {
      const LaneLook look = look_of(world.first(), sender, wants);
      ASSERT_EQ(look, done_by(sender, wants)) << "round " << round;
    }
  }
}

TEST(LaneLook, Row213RoomForSeveralIsReadyOnlyWhereAllOfThemFit) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), kBand, 0);
  std::uint32_t left = 8 - kControlReserveSlots;
  for (; left > 0; --left) {
    EXPECT_EQ(look_of(world.first(), sender, {left}), LaneLook::Ready);
    EXPECT_EQ(look_of(world.first(), sender, {left + 1}), LaneLook::Nothing);
    ASSERT_TRUE(send_one(sender, left));
  }
  EXPECT_EQ(look_of(world.first(), sender, {1}), LaneLook::Nothing);
  EXPECT_EQ(look_of(world.first(), sender, {1, 0, CreditClass::Control}), LaneLook::Ready);
}

TEST(LaneLook, Row213WantsThatNothingCanMeetAreKnown) {
  LoopbackSample world;
  const LaneSender sender = open_sender(world.first(), kBand, 0);
  const auto can = [&](const SenderWants& wants) {
    return can_be_ready(sender_view(wires_of(world.first(), kBand, 0), sender.state(), wants));
  };
  EXPECT_TRUE(can({1, 0}));
  EXPECT_TRUE(can({6, 0}));
  EXPECT_FALSE(can({7, 0})) << "two of eight are kept for control";
  EXPECT_TRUE(can({8, 0, CreditClass::Control}));
  EXPECT_FALSE(can({0, 0}));
  EXPECT_TRUE(can({1, kLanePayloadBytesMax}));
  EXPECT_FALSE(can({1, kLanePayloadBytesMax + 1}));
  EXPECT_FALSE(can({2, 16}));
}

// Leaves something in the place in front: most of its packets as a sender leaves them.
void disturb(LaneReceiver& receiver, SealedSlot* ring, std::uint64_t seed, std::uint32_t round) {
  const std::uint64_t word = random64(seed, round, 3);
  SealedSlot& front = ring[receiver.state().credit.received % 8];
  if (word % 8 == 0) {
    SystemOrder::put(front.packet[(word >> 8) % kSlotPackets], garbage_of(seed, round));
  } else if (word % 8 == 1) {
    const std::uint64_t lap = receiver.state().credit.received / 8;
    for (Packet& packet : front.packet) {
      packet.stamp = packet_stamp(kSampleEpoch, lap);
    }
  }
}

// Whoever looks without taking goes on as if he had taken, and the other way round.
TEST(LaneLook, ALookFindsNothingIfAndOnlyIfTakingItWouldChangeNothing) {
  std::uint32_t seen[2] = {};
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    LoopbackSample world;
    LaneSender sender = open_sender(world.first(), kBand, 0);
    LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
    for (std::uint32_t round = 0; round < 24 && !receiver.broken(); ++round) {
      const std::uint64_t word = random64(seed, round, 3);
      if (word % 3 != 0) {
        send_one(sender, round, word % 3 == 1 ? 4'096 : 0);
      }
      disturb(receiver, ring_of(world.second(), kBand, 0), seed, round);
      SlotTile tile = receiver.look<5>(5);
      const bool nothing = receiver.finds_nothing<5>(tile);
      const LaneReceiverState before = receiver.state();
      receiver.take<5>(tile, 5);
      const LaneReceiverState& after = receiver.state();
      const bool unchanged = tile.slot_count == 0 && !receiver.broken() &&
                             after.credit.received == before.credit.received &&
                             after.payload_received == before.payload_received &&
                             after.stale_cursor == before.stale_cursor;
      ASSERT_EQ(nothing, unchanged) << "seed " << seed << " round " << round;
      receiver.release(tile);
      ++seen[nothing ? 1 : 0];
    }
    ASSERT_TRUE(!receiver.broken() || receiver.finds_nothing<5>(receiver.look<5>(5)));
  }
  EXPECT_GT(seen[0], 1'000u);
  EXPECT_GT(seen[1], 1'000u);
}

TEST(LaneLook, Row213AReceiversLookAgreesWithItOnGarbage) {
  std::uint32_t seen[3] = {};
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    LoopbackSample world;
    LaneSender sender = open_sender(world.first(), kBand, 0);
    LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
    SealedSlot* ring = ring_of(world.second(), kBand, 0);
    for (std::uint32_t round = 0; round < 24 && !receiver.broken(); ++round) {
      const std::uint64_t word = random64(seed, round, 3);
      if (word % 3 != 0) {
        send_one(sender, round, word % 3 == 1 ? 4'096 : 0);
      }
      disturb(receiver, ring, seed, round);
      const LaneLook look = look_of(world.second(), receiver);
      ++seen[static_cast<std::size_t>(look)];
      ASSERT_EQ(look, done_by(receiver)) << "seed " << seed << " round " << round;
    }
  }
  for (const std::uint32_t count : seen) {
    EXPECT_GT(count, 300u) << "the garbage is too tame or too wild to show anything";
  }
}

TEST(LaneLook, Row213ASendersLookAgreesWithItOnGarbage) {
  std::uint32_t seen[3] = {};
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    LoopbackSample world;
    LaneSender sender = open_sender(world.first(), kBand, 0);
    Packet* grant = wires_of(world.first(), kBand, 0).own_credit;
    for (std::uint32_t round = 0; round < 24 && !sender.broken(); ++round) {
      const std::uint64_t word = random64(seed, round, 3);
      if (word % 3 == 0) {
        Packet garbage = garbage_of(seed, round);
        garbage.word[1] %= 300;
        SystemOrder::put(*grant, garbage);
      }
      const SenderWants wants{1, word % 2 == 0 ? 4'096u : 0u};
      const LaneLook look = look_of(world.first(), sender, wants);
      ++seen[static_cast<std::size_t>(look)];
      ASSERT_EQ(look, done_by(sender, wants)) << "seed " << seed << " round " << round;
      send_one(sender, round, word % 5 == 0 ? 8'192 : 0);
    }
  }
  for (const std::uint32_t count : seen) {
    EXPECT_GT(count, 300u) << "the garbage is too tame or too wild to show anything";
  }
}

TEST(LaneLook, Row213WhatWasSeenAndIsGoneIsCountedAndResetsTheChannel) {
  LoopbackSample world;
  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  receiver.on_vanished();
  receiver.on_vanished();
  EXPECT_TRUE(receiver.broken());
  EXPECT_EQ(world.pair.second->counts().received.bad_field, 1u);
  EXPECT_EQ(world.pair.second->fault(), DropReason::BadField);
  LaneSender sender = open_sender(world.first(), kBand, 0);
  sender.on_vanished();
  EXPECT_TRUE(sender.broken());
  EXPECT_EQ(world.pair.first->counts().sent.bad_field, 1u);
  EXPECT_EQ(world.pair.first->fault(), DropReason::BadField);
}

}  // namespace
}  // namespace gcoord::netcore
