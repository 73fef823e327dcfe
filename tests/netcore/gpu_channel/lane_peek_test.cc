// A look at a lane says what the lane's end then does, whatever a peer leaves in memory.
#include "netcore/gpu_channel/lane_peek.h"

#include "tests/netcore/gpu_channel/lane_samples.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gcoord::netcore {
namespace {

constexpr Band kBand = Band::Consensus;

LanePeek look_of(const GpuChannelDevice& end, const LaneReceiver& receiver) {
  return look_at(receiver_view(wires_of(end, kBand, 0), receiver.state()));
}

LanePeek look_of(const GpuChannelDevice& end, const LaneSender& sender, const SenderWants& wants) {
  return look_at(sender_view(wires_of(end, kBand, 0), sender.state(), wants));
}

// What the receiver did with the place in front.
LanePeek done_by(LaneReceiver& receiver) {
  const std::uint64_t before = receiver.state().credit.received;
  const SlotTile tile = receiver.poll(1);
  receiver.release(tile);
  if (receiver.broken()) {
    return LanePeek::Broken;
  }
  return receiver.state().credit.received == before + 1 ? LanePeek::Ready : LanePeek::Nothing;
}

LanePeek done_by(LaneSender& sender, const SenderWants& wants) {
  const Reservation place = sender.reserve(1, wants.payload_bytes, wants.kind);
  const bool found = place.slot_count != 0;
  if (found) {
    sender.cancel(place);
  }
  return sender.broken() ? LanePeek::Broken : found ? LanePeek::Ready : LanePeek::Nothing;
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

TEST(LanePeek, Row213AReceiversLookAgreesWithWhatItThenTakes) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), kBand, 0);
  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  EXPECT_EQ(look_of(world.second(), receiver), LanePeek::Nothing);
  for (std::uint32_t round = 0; round < 1'000; ++round) {
    const std::uint32_t payload = round % 3 == 0 ? 4'096 : 0;
    ASSERT_TRUE(send_one(sender, round, payload));
    EXPECT_EQ(look_of(world.second(), receiver), LanePeek::Ready);
    const SlotTile tile = receiver.poll(1);
    ASSERT_TRUE(is_sample(tile, round, payload));
    receiver.release(tile);
    EXPECT_EQ(look_of(world.second(), receiver), LanePeek::Nothing);
  }
}

TEST(LanePeek, Row213ASlotIsReadyWhenItsLastPacketIsThere) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), kBand, 0);
  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  ASSERT_TRUE(send_one(sender, 1));
  SealedSlot* ring = ring_of(world.second(), kBand, 0);
  const SealedSlot whole = ring[0];
  for (std::uint32_t part = 0; part < kSlotPackets; ++part) {
    ring[0] = whole;
    ring[0].packet[part] = Packet{};
    EXPECT_EQ(look_of(world.second(), receiver), LanePeek::Nothing) << "packet " << part;
  }
  ring[0] = whole;
  EXPECT_EQ(look_of(world.second(), receiver), LanePeek::Ready);
}

TEST(LanePeek, Row213ASendersLookAgreesWithWhatItThenFinds) {
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
      const LanePeek look = look_of(world.first(), sender, wants);
      ASSERT_EQ(look, done_by(sender, wants)) << "round " << round;
    }
  }
}

TEST(LanePeek, Row213RoomForSeveralIsReadyOnlyWhereAllOfThemFit) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), kBand, 0);
  std::uint32_t left = 8 - kControlReserveSlots;
  for (; left > 0; --left) {
    EXPECT_EQ(look_of(world.first(), sender, {left}), LanePeek::Ready);
    EXPECT_EQ(look_of(world.first(), sender, {left + 1}), LanePeek::Nothing);
    ASSERT_TRUE(send_one(sender, left));
  }
  EXPECT_EQ(look_of(world.first(), sender, {1}), LanePeek::Nothing);
  EXPECT_EQ(look_of(world.first(), sender, {1, 0, CreditClass::Control}), LanePeek::Ready);
}

TEST(LanePeek, Row213WantsThatNothingCanMeetAreKnown) {
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
TEST(LanePeek, ALookFindsNothingIfAndOnlyIfTakingItWouldChangeNothing) {
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

// What a receiver knows, and what its peer was told.
bool same_state(const LaneReceiverState& one, const LaneReceiverState& other) {
  return one.credit.received == other.credit.received &&
         one.credit.consumed == other.credit.consumed && one.credit.told == other.credit.told &&
         one.credit.lost == other.credit.lost && one.credit.capacity == other.credit.capacity &&
         one.payload_received == other.payload_received &&
         one.payload_consumed == other.payload_consumed && one.payload_told == other.payload_told &&
         one.stale_cursor == other.stale_cursor && one.broken == other.broken;
}

bool same_words(const SlotTile& one, const SlotTile& other) {
  std::uint32_t words[kSlotWords] = {};
  bool same = one.slot_count == other.slot_count;
  one.for_each_word(
      [&words](std::uint32_t, std::uint32_t word, std::uint32_t value) { words[word] = value; });
  other.for_each_word([&same, &words](std::uint32_t, std::uint32_t word, std::uint32_t value) {
    same = same && words[word] == value;
  });
  return same;
}

// What taking the slot in front came to, where that is not all that there is to say.
enum class Taken : std::uint8_t { Plain, Payload, Grant, Stale, Broken, Nothing };

constexpr std::size_t kTakens = 6;

Taken taken(const LaneReceiverState& before, const LaneReceiverState& after, const SlotTile& tile) {
  if (after.broken != 0) {
    return Taken::Broken;
  }
  if (tile.slot_count == 0) {
    const bool stale = after.credit.received != before.credit.received ||
                       after.stale_cursor != before.stale_cursor;
    return stale ? Taken::Stale : Taken::Nothing;
  }
  if (tile.payload_bytes != 0) {
    return Taken::Payload;
  }
  return after.credit.told != before.credit.told ? Taken::Grant : Taken::Plain;
}

// Sometimes makes the slot in front one of another epoch whose stamps fit.
void disturb_header(LaneReceiver& receiver, SealedSlot* ring, std::uint64_t word) {
  if (word % 16 == 9) {
    SealedSlot& front = ring[receiver.state().credit.received % 8];
    front.packet[kHeaderPart].word[kEpochWord] = kSampleEpoch + kEpochTagCount;
  }
}

// One look at what is in front, in both ways: `receiver` passes what the other one takes.
Taken pass_and_take(const GpuChannelDevice& end, LaneReceiver& receiver) {
  const Packet* told = wires_of(end, kBand, 0).peer_credit;
  const Packet told_before = *told;
  SlotTile tile = receiver.look<5>(5);
  const std::uint32_t count = receiver.plain_slots<5>(tile, 5);
  SlotTile seen = tile;
  seen.slot_count = count;
  LaneReceiver passing = receiver;
  passing.pass(count);
  EXPECT_EQ(told_before.word[0], told->word[0]) << "the peer was told too soon";
  const LaneReceiverState before = receiver.state();
  receiver.take<5>(tile, 5);
  receiver.release(tile);
  const Taken what = taken(before, receiver.state(), tile);
  EXPECT_EQ(count != 0, what == Taken::Plain || what == Taken::Grant)
      << "as " << static_cast<int>(what);
  if (count != 0) {
    const std::uint32_t told_after = told->word[0];
    passing.grant_if_due();
    EXPECT_TRUE(same_state(passing.state(), receiver.state()));
    EXPECT_TRUE(same_words(seen, tile));
    EXPECT_EQ(told_after, told->word[0]);
    EXPECT_EQ(what == Taken::Grant, told_before.word[0] != told->word[0]);
    receiver = passing;
  } else {
    EXPECT_TRUE(same_state(passing.state(), before));
  }
  return what;
}

// Slots pass unjudged if and only if there is nothing to be said about them; the peer is told as if
// they had been taken.
TEST(LanePeek, PlainSlotsAreThoseOfWhichTakingThemSaysNothing) {
  std::uint32_t seen[kTakens] = {};
  for (std::uint64_t seed = 0; seed < 3'000 && !testing::Test::HasFailure(); ++seed) {
    LoopbackSample world;
    LaneSender sender = open_sender(world.first(), kBand, 0);
    LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
    SealedSlot* ring = ring_of(world.second(), kBand, 0);
    for (std::uint32_t round = 0; round < 40 && !receiver.broken(); ++round) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
      const std::uint64_t word = random64(seed, round, 4);
      if (word % 4 != 0) {
        send_one(sender, round, word % 4 == 1 && seed % 2 == 0 ? 4'096 : 0);
      }
      if (seed % 4 == 0) {
        disturb(receiver, ring, seed, round);
      }
      disturb_header(receiver, ring, word >> 8);
      const Taken what = pass_and_take(world.second(), receiver);
      ++seen[static_cast<std::size_t>(what)];
    }
    ASSERT_TRUE(!receiver.broken() || pass_and_take(world.second(), receiver) == Taken::Broken);
  }
  for (std::size_t what = 0; what < kTakens; ++what) {
    EXPECT_GT(seen[what], 300u) << "kind " << what;
  }
}

TEST(LanePeek, SlotsThatPassAreCounted) {
  LoopbackSample world;
  LaneSender sender = open_sender(world.first(), kBand, 0);
  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  for (std::uint32_t value = 0; value < 4; ++value) {
    ASSERT_TRUE(send_one(sender, value));
    SlotTile tile = receiver.look<5>(5);
    ASSERT_EQ(receiver.plain_slots<5>(tile, 5), 1u);
    tile.slot_count = 1;
    EXPECT_TRUE(is_sample(tile, value));
    receiver.pass(1);
  }
  close_receiver(world.second(), kBand, 0, receiver);
  EXPECT_EQ(world.pair.second->counts().received.slots, 4u);
  EXPECT_TRUE(same_state(open_receiver(world.second(), kBand, 0).state(), receiver.state()));
}

// How many slots would pass with a whole one in front, if this is what the receiver knows.
std::uint32_t plain_at(const GpuChannelDevice& end, const LaneReceiverState& state) {
  const LaneWires wires = wires_of(end, kBand, 0);
  SealedSlot& front = wires.own_slots[slot_place(state.credit.received, wires.slot_shift)];
  for (Packet& packet : front.packet) {
    packet = {};
    packet.stamp = stamp_at(wires, state.credit.received);
  }
  front.packet[kHeaderPart].word[kEpochWord] = wires.epoch;
  LaneReport report;
  const LaneReceiver receiver(wires, &report, state);
  return receiver.plain_slots<5>(receiver.look<5>(5), 5);
}

TEST(LanePeek, NothingIsPlainBeyondCreditOrAfterAFault) {
  LoopbackSample world;
  LaneReceiverState state;
  state.credit.capacity = 8;
  EXPECT_EQ(plain_at(world.second(), state), 1u);
  state.credit.received = state.credit.consumed = 3;
  EXPECT_EQ(plain_at(world.second(), state), 1u);
  state.credit.received = state.credit.consumed = 4;
  EXPECT_EQ(plain_at(world.second(), state), 1u) << "the peer is told afterwards";
  state.broken = 1;
  EXPECT_EQ(plain_at(world.second(), state), 0u) << "broken";
  state.broken = 0;
  state.credit = {.received = 8, .consumed = 3, .told = 0, .lost = 0, .capacity = 8};
  EXPECT_EQ(plain_at(world.second(), state), 0u) << "nobody granted it";
}

// Whoever looks at what changed only misses nothing that a peer wrote.
TEST(LanePeek, WhatLiesInFrontChangesWhereALookBeginsToFindSomething) {
  std::uint32_t found = 0;
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    LoopbackSample world;
    LaneSender sender = open_sender(world.first(), kBand, 0);
    LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
    for (std::uint32_t round = 0; round < 24 && !receiver.broken(); ++round) {
      const SlotTile before = receiver.look<5>(5);
      const bool nothing = receiver.finds_nothing<5>(before);
      if (random64(seed, round, 4) % 3 == 0) {
        send_one(sender, round, round % 5 == 0 ? 4'096 : 0);
      }
      disturb(receiver, ring_of(world.second(), kBand, 0), seed, round);
      const SlotTile after = receiver.look<5>(5);
      if (nothing && !receiver.finds_nothing<5>(after)) {
        ASSERT_NE(receiver.in_front(before), receiver.in_front(after))
            << "seed " << seed << " round " << round;
        ++found;
      }
      receiver.release(receiver.poll<5>(5));
    }
  }
  EXPECT_GT(found, 3'000u);
}

// Packets arrive in any order, and a look may come between any two of them.
TEST(LanePeek, WhatLiesInFrontChangesWithTheLastPacketOfASlotInEveryEpoch) {
  for (const std::uint32_t epoch : {7u, 0x3fffu, 0x7fffu, 0xbfffu, 0xfffeu}) {
    LoopbackSample world{sample_layout(), epoch};
    LaneSender sender = open_sender(world.first(), kBand, 0);
    LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
    SealedSlot& front = ring_of(world.second(), kBand, 0)[0];
    for (std::uint32_t lap = 0; lap < 3; ++lap) {
      const SealedSlot old = front;
      ASSERT_TRUE(send_one(sender, lap));
      const SealedSlot whole = front;
      const std::uint64_t arrived = receiver.in_front(receiver.look<5>(5));
      EXPECT_FALSE(receiver.finds_nothing<5>(receiver.look<5>(5)));
      for (std::uint32_t there = 0; there + 1 < 1u << kSlotPackets; ++there) {
        for (std::uint32_t part = 0; part < kSlotPackets; ++part) {
          front.packet[part] = (there >> part & 1) != 0 ? whole.packet[part] : old.packet[part];
        }
        const SlotTile tile = receiver.look<5>(5);
        ASSERT_TRUE(receiver.finds_nothing<5>(tile));
        ASSERT_NE(receiver.in_front(tile), arrived)
            << "epoch " << epoch << " lap " << lap << " packets " << there;
      }
      front = whole;
      for (std::uint32_t slot = 0; slot < 8; ++slot) {
        receiver.release(receiver.poll<5>(5));
        ASSERT_TRUE(slot == 7 || send_one(sender, slot));
      }
    }
  }
}

// A peer that writes several packets at once cannot hide one behind another.
TEST(LanePeek, WhatLiesInFrontChangesWithEveryPacketOfIt) {
  LoopbackSample world;
  LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
  SealedSlot& front = ring_of(world.second(), kBand, 0)[0];
  const SlotTile before = receiver.look<5>(5);
  ASSERT_TRUE(receiver.finds_nothing<5>(before));
  const std::uint32_t foreign = packet_stamp(kSampleEpoch, 5);
  front.packet[1].stamp = foreign;
  front.packet[4].stamp = ~foreign + 1;
  const SlotTile after = receiver.look<5>(5);
  ASSERT_FALSE(receiver.finds_nothing<5>(after));
  EXPECT_NE(receiver.in_front(before), receiver.in_front(after));
}

TEST(LanePeek, Row213AReceiversLookAgreesWithItOnGarbage) {
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
      const LanePeek look = look_of(world.second(), receiver);
      ++seen[static_cast<std::size_t>(look)];
      ASSERT_EQ(look, done_by(receiver)) << "seed " << seed << " round " << round;
    }
  }
  for (const std::uint32_t count : seen) {
    EXPECT_GT(count, 300u) << "the garbage is too tame or too wild to show anything";
  }
}

TEST(LanePeek, Row213ASendersLookAgreesWithItOnGarbage) {
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
      const LanePeek look = look_of(world.first(), sender, wants);
      ++seen[static_cast<std::size_t>(look)];
      ASSERT_EQ(look, done_by(sender, wants)) << "seed " << seed << " round " << round;
      send_one(sender, round, word % 5 == 0 ? 8'192 : 0);
    }
  }
  for (const std::uint32_t count : seen) {
    EXPECT_GT(count, 300u) << "the garbage is too tame or too wild to show anything";
  }
}

TEST(LanePeek, Row213WhatWasSeenAndIsGoneIsCountedAndResetsTheChannel) {
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
