// What a poll set reports, in what order, and how its waits end.
#include "netcore/poll/set.h"

#include "tests/netcore/poll_samples.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace gcoord::netcore {
namespace {

constexpr Band kBand = Band::Consensus;

PollEntry receiver_of(const LoopbackSample& world, std::uint32_t lane = 0) {
  return receiver_entry(
      world.second(), kBand, lane, open_receiver(world.second(), kBand, lane).state());
}

PollEntry sender_of(const LoopbackSample& world, const SenderWants& wants = {}) {
  return sender_entry(world.first(), kBand, 0, open_sender(world.first(), kBand, 0).state(), wants);
}

// One set that waits for one lane, whose two ends are at hand.
class PollLaneTest : public testing::Test {
 protected:
  void wait_for_slots() { set_.put(0, receiver_of(world_)); }

  void wait_for_room() { set_.put(0, sender_of(world_)); }

  // Polls the receiving end as who was told of a slot does.
  std::uint32_t receive() {
    return receive_polled(set_.entry(0), receiver_, 1, [](const SlotTile&) {});
  }

  LoopbackSample world_;
  PollSample sample_;
  PollSet<> set_{sample_.device()};
  LaneSender sender_ = open_sender(world_.first(), kBand, 0);
  LaneReceiver receiver_ = open_receiver(world_.second(), kBand, 0);
};

static_assert(kPollIn == POLLIN && kPollOut == POLLOUT && kPollErr == POLLERR &&
              kPollHup == POLLHUP && kPollBad == POLLNVAL);

TEST(PollSet, Row213AnEmptySetOnlyWaits) {
  PollSample sample;
  PollSet<> set{sample.device()};
  EXPECT_EQ(set.wait({}).status, WaitStatus::TimedOut);
  const std::uint64_t began_ns = device_now_ns();
  PollOptions options;
  options.deadline_ns = began_ns + 2'000'000;
  EXPECT_EQ(set.wait(options).status, WaitStatus::TimedOut);
  EXPECT_GE(device_now_ns() - began_ns, 2'000'000u);
  std::thread host{[&] { EXPECT_TRUE(sample.poll->abort().ok()); }};
  options.deadline_ns = deadline_after(300 * kSecondNs);
  EXPECT_EQ(set.wait(options).status, WaitStatus::Aborted);
  host.join();
}

TEST(PollSet, Row213AWaitEndsWhenItsSetIsClosed) {
  PollSample sample;
  PollSet<> set{sample.device()};
  const std::uint64_t never = 0;
  set.put(3, word_entry(&never, 0));
  PollOptions options;
  options.deadline_ns = deadline_after(300 * kSecondNs);
  std::thread host{[&] { EXPECT_TRUE(sample.poll->close().ok()); }};
  EXPECT_EQ(set.wait(options).status, WaitStatus::EpochChanged);
  host.join();
}

TEST(PollSet, Row213TheMemoryOfASetIsBounded) {
  MemoryRegistry registry{make_host_memory()};
  for (const std::uint32_t entries : {0u, kPollEntriesMax + 1}) {
    GpuPollOptions options;
    options.entries = entries;
    EXPECT_EQ(GpuPoll::create(registry, options).status().code(), StatusCode::InvalidArgument);
  }
  EXPECT_TRUE(registry.ranges().empty());
}

TEST(PollSet, Row213ADeadlineThatHasPassedAsksForEveryEntry) {
  constexpr std::uint32_t kWords = 3'000;
  PollSample sample{kWords};
  std::vector<std::uint64_t> words(kWords);
  PollSet<> set{sample.device()};
  for (std::uint32_t i = 0; i < kWords; ++i) {
    set.put(i, word_entry(&words[i], 0));
  }
  for (const std::uint32_t raised : {0u, 63u, 64u, 65u, 1'777u, kWords - 1}) {
    EXPECT_TRUE(ask(set).empty());
    words[raised] = 7;
    const std::vector<PollEvent> events = ask(set);
    ASSERT_EQ(events.size(), 1u) << raised;
    EXPECT_EQ(events[0].index, raised);
    EXPECT_EQ(events[0].events, kPollIn);
    EXPECT_EQ(events[0].value, 7u);
    set.see(raised, 7);
  }
}

TEST_F(PollLaneTest, Row213AnEntryIsReportedUntilItsReasonIsGone) {
  wait_for_slots();
  EXPECT_TRUE(ask(set_).empty());
  ASSERT_TRUE(send_one(sender_, 1));
  ASSERT_TRUE(send_one(sender_, 2));
  for (std::uint32_t value = 1; value <= 2; ++value) {
    for (int again = 0; again < 3; ++again) {
      const std::vector<PollEvent> events = ask(set_);
      ASSERT_EQ(events.size(), 1u);
      EXPECT_EQ(events[0].events, kPollIn);
      EXPECT_EQ(events[0].value, value - 1) << "the cursor";
    }
    EXPECT_EQ(receive_polled(set_.entry(0),
                             receiver_,
                             1,
                             [&](const SlotTile& tile) { EXPECT_TRUE(is_sample(tile, value)); }),
              1u);
  }
  EXPECT_TRUE(ask(set_).empty());
  EXPECT_EQ(receive(), 0u);
  EXPECT_FALSE(receiver_.broken()) << "nothing was reported, and nothing was there";
}

TEST_F(PollLaneTest, Row213RoomIsReportedWhenThePeerGivesItBack) {
  wait_for_room();
  for (std::uint32_t round = 0; round < 300; ++round) {
    while (events_of(set_, 0) == kPollOut) {
      const Reservation place = reserve_polled(set_.entry(0), sender_);
      ASSERT_EQ(place.slot_count, 1u);
      sender_.publish(place, [](std::uint32_t, std::uint32_t word) { return word; });
    }
    EXPECT_EQ(reserve_polled(set_.entry(0), sender_).slot_count, 0u);
    for (SlotTile tile = receiver_.poll(1); tile.slot_count != 0; tile = receiver_.poll(1)) {
      receiver_.release(tile);
    }
    receiver_.grant();
  }
  EXPECT_FALSE(sender_.broken());
  EXPECT_FALSE(receiver_.broken());
}

TEST_F(PollLaneTest, Row213WhatNobodyAskedForIsNotReported) {
  ASSERT_TRUE(send_one(sender_, 1));
  PollEntry entry = receiver_of(world_);
  entry.interest = 0;
  set_.put(0, entry);
  EXPECT_TRUE(ask(set_).empty());
  set_.entry(0).interest = kPollIn;
  EXPECT_EQ(events_of(set_, 0), kPollIn);
  set_.remove(0);
  EXPECT_TRUE(ask(set_).empty());
}

TEST(PollSet, Row213AnEntryThatCanNeverBeReadyIsReportedAsBad) {
  LoopbackSample world;
  const std::uint64_t word = 0;
  std::vector<PollEntry> bad;
  bad.push_back(word_entry(nullptr, 0));
  bad.push_back(word_entry(&word, 0));
  bad.back().interest = kPollHup;
  bad.push_back(word_entry(&word, 0));
  bad.back().kind = static_cast<PollKind>(77);
  bad.push_back(receiver_of(world));
  bad.back().control = nullptr;
  bad.push_back(receiver_of(world));
  bad.back().target.receiver.slots = nullptr;
  bad.push_back(sender_of(world, {7}));
  bad.push_back(sender_of(world, {0}));
  bad.push_back(sender_of(world, {1, kLanePayloadBytesMax + 1}));
  bad.push_back(ticket_entry({}, nullptr));
  for (const PollEntry& entry : bad) {
    PollSample sample;
    PollSet<> set{sample.device()};
    set.put(0, entry);
    for (int again = 0; again < 2; ++again) {
      const std::vector<PollEvent> events = ask(set);
      ASSERT_EQ(events.size(), 1u);
      EXPECT_EQ(events[0].events, kPollBad);
    }
    set.put(0, word_entry(&word, 0));
    EXPECT_TRUE(ask(set).empty());
  }
}

TEST(PollSet, Row213WhoWasReportedLastIsLookedAtLast) {
  constexpr std::uint32_t kWords = 10;
  PollSample sample;
  std::vector<std::uint64_t> words(kWords, 1);
  PollSet<> set{sample.device()};
  for (std::uint32_t i = 0; i < kWords; ++i) {
    set.put(i, word_entry(&words[i], 0));
  }
  for (std::uint32_t turn = 0; turn < 5 * kWords; ++turn) {
    const std::vector<PollEvent> events = ask(set);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].index, turn % kWords) << "all are ready all the time";
  }
  // One that is seldom ready comes before all who were served since.
  words.assign(kWords, 0);
  words[4] = 1;
  EXPECT_EQ(ask(set)[0].index, 4u);
  words[3] = 1;
  EXPECT_EQ(ask(set)[0].index, 3u);
  EXPECT_EQ(ask(set)[0].index, 4u);
}

TEST(PollSet, Row213FairnessGoesOnFromOneGroupToTheNext) {
  PollSample sample;
  std::vector<std::uint64_t> words(3, 1);
  {
    PollSet<> set{sample.device()};
    for (std::uint32_t i = 0; i < 3; ++i) {
      set.put(i, word_entry(&words[i], 0));
    }
    EXPECT_EQ(ask(set)[0].index, 0u);
    set.close();
  }
  PollSet<> set{sample.device()};
  EXPECT_EQ(set.count(), 3u);
  EXPECT_EQ(ask(set)[0].index, 1u);
}

TEST(PollSet, Row213WhoAlwaysHasEventsIsToldOfAnAbortInItsTurn) {
  PollSample sample;
  const std::uint64_t busy = 1;
  PollSet<> set{sample.device()};
  for (std::uint32_t i = 0; i < 5; ++i) {
    set.put(i, word_entry(&busy, 0));
  }
  set.put(5, word_entry(&sample.device().control->abort, 0));
  EXPECT_TRUE(sample.poll->abort().ok());
  EXPECT_EQ(set.wait({}).status, WaitStatus::Ready) << "what is there comes first";
  EXPECT_EQ(events_of(set, 5), kPollIn);
}

TEST(PollSet, Row213AnEndedChannelHangsUpWhoWaits) {
  for (const bool aborts : {false, true}) {
    LoopbackSample world;
    PollSample sample;
    PollSet<> set{sample.device()};
    set.put(0, receiver_of(world));
    std::thread host{[&] {
      EXPECT_TRUE((aborts ? world.pair.second->abort() : world.pair.second->close()).ok());
    }};
    EXPECT_EQ(await_event(set).events, kPollHup);
    host.join();
    LaneSender sender = open_sender(world.first(), kBand, 0);
    ASSERT_TRUE(send_one(sender, 1));
    EXPECT_EQ(events_of(set, 0), kPollIn | kPollHup) << "what is there may still be taken";
  }
}

TEST(PollSet, Row213AFaultOfTheChannelIsReportedAtEachOfItsLanes) {
  LoopbackSample world{sample_layout(2)};
  LoopbackSample bystander;
  PollSample sample;
  PollSet<> set{sample.device()};
  set.put(0, receiver_of(world, 0));
  set.put(1, receiver_of(world, 1));
  set.put(2, receiver_of(bystander));
  ring_of(world.second(), kBand, 1)[0].packet[2].stamp = packet_stamp(kSampleEpoch, 1);
  EXPECT_EQ(events_of(set, 1), kPollErr) << "garbage in a place that was never written";
  EXPECT_EQ(events_of(set, 0), 0u) << "nobody has judged the channel yet";
  LaneReceiver receiver = open_receiver(world.second(), kBand, 1);
  EXPECT_EQ(receive_polled(set.entry(1), receiver, 1, [](const SlotTile&) {}), 0u);
  EXPECT_EQ(world.pair.second->fault(), DropReason::CreditOverrun);
  EXPECT_EQ(events_of(set, 0), kPollErr);
  EXPECT_EQ(events_of(set, 1), kPollErr);
  EXPECT_EQ(events_of(set, 2), 0u);
}

TEST_F(PollLaneTest, Row213ASlotThatIsTakenBackIsCountedAndEndsItsChannel) {
  wait_for_slots();
  ASSERT_TRUE(send_one(sender_, 1));
  ASSERT_EQ(events_of(set_, 0), kPollIn);
  ring_of(world_.second(), kBand, 0)[0] = SealedSlot{};
  EXPECT_EQ(events_of(set_, 0), 0u);
  EXPECT_EQ(receive(), 0u);
  EXPECT_TRUE(receiver_.broken());
  EXPECT_EQ(world_.pair.second->counts().received.bad_field, 1u);
  EXPECT_EQ(events_of(set_, 0), kPollErr);
}

TEST_F(PollLaneTest, Row213AGrantThatIsTakenBackIsCountedAndEndsItsChannel) {
  wait_for_room();
  while (reserve_polled(set_.entry(0), sender_).slot_count != 0) {
  }
  Packet grant;
  grant.word[0] = 3;
  grant.word[2] = kSampleEpoch;
  grant.stamp = packet_stamp(kSampleEpoch, 0);
  Packet& place = *wires_of(world_.first(), kBand, 0).own_credit;
  SystemOrder::put(place, grant);
  ASSERT_EQ(events_of(set_, 0), kPollOut);
  SystemOrder::put(place, Packet{});
  EXPECT_EQ(reserve_polled(set_.entry(0), sender_).slot_count, 0u);
  EXPECT_TRUE(sender_.broken());
  EXPECT_EQ(world_.pair.first->counts().sent.bad_field, 1u);
  EXPECT_EQ(events_of(set_, 0), kPollErr);
}

// Takes all room, and has the peer give back so much of it.
void give_room(LoopbackSample& world, LaneSender& sender, LaneReceiver& receiver, int slots) {
  while (send_one(sender, 1)) {
  }
  for (int slot = 0; slot < slots; ++slot) {
    receiver.release(receiver.poll(1));
  }
  receiver.grant();
  EXPECT_EQ(world.pair.first->fault(), DropReason::None);
}

// Who was told of room for one and then wants more has not been lied to.
TEST_F(PollLaneTest, Row213AWishForMoreSlotsAfterTheReportAccusesNobody) {
  give_room(world_, sender_, receiver_, 3);
  set_.put(0, sender_of(world_));
  keep_up(set_.entry(0), sender_);
  ASSERT_EQ(events_of(set_, 0), kPollOut);
  set_.entry(0).target.sender.slots_min = 4;
  EXPECT_EQ(reserve_polled(set_.entry(0), sender_).slot_count, 0u);
  EXPECT_FALSE(sender_.broken());
  EXPECT_EQ(world_.pair.first->fault(), DropReason::None);
  EXPECT_EQ(events_of(set_, 0), 0u);
}

TEST_F(PollLaneTest, Row213AWishForMorePayloadAfterTheReportAccusesNobody) {
  for (const std::uint32_t payload : {0u, 0u, 1u, 1u, 1u, 1u}) {
    ASSERT_TRUE(send_one(sender_, 1, payload * kLanePayloadBytesMax));
  }
  receiver_.release(receiver_.poll(1));
  receiver_.grant();
  set_.put(0, sender_of(world_));
  keep_up(set_.entry(0), sender_);
  ASSERT_EQ(events_of(set_, 0), kPollOut);
  set_.entry(0).target.sender.payload_bytes = 16;
  EXPECT_EQ(reserve_polled(set_.entry(0), sender_).slot_count, 0u);
  EXPECT_FALSE(sender_.broken());
  EXPECT_EQ(events_of(set_, 0), 0u);
  set_.entry(0).target.sender.payload_bytes = 0;
  EXPECT_EQ(reserve_polled(set_.entry(0), sender_).slot_count, 1u);
}

TEST_F(PollLaneTest, Row213AWishThatIsChangedIsReportedWhenItIsMet) {
  give_room(world_, sender_, receiver_, 3);
  set_.put(0, sender_of(world_));
  keep_up(set_.entry(0), sender_);
  ASSERT_EQ(events_of(set_, 0), kPollOut);
  set_.entry(0).target.sender.slots_min = 4;
  EXPECT_EQ(events_of(set_, 0), 0u);
  receiver_.release(receiver_.poll(1));
  receiver_.grant();
  EXPECT_EQ(events_of(set_, 0), kPollOut);
  EXPECT_NE(reserve_polled(set_.entry(0), sender_).slot_count, 0u);
}

TEST_F(PollLaneTest, Row213AWishThatIsChangedToTheImpossibleIsBadAndFindsNothing) {
  wait_for_room();
  ASSERT_EQ(events_of(set_, 0), kPollOut);
  for (const SenderWants& wants :
       {SenderWants{0}, SenderWants{7}, SenderWants{~0u}, SenderWants{1, ~0u}}) {
    set_.entry(0).target.sender.slots_min = wants.slots_min;
    set_.entry(0).target.sender.payload_bytes = wants.payload_bytes;
    EXPECT_EQ(events_of(set_, 0), kPollBad);
    EXPECT_EQ(reserve_polled(set_.entry(0), sender_).slot_count, 0u);
    EXPECT_FALSE(sender_.broken());
  }
}

// A host moves a slot at a time, and waits for room for several all the same.
TEST_F(PollLaneTest, Row213RoomForSeveralSlotsIsReservedAsTheGroupMovesThem) {
  give_room(world_, sender_, receiver_, 3);
  set_.put(0, sender_of(world_, {3}));
  keep_up(set_.entry(0), sender_);
  ASSERT_EQ(events_of(set_, 0), kPollOut);
  Reservation place = reserve_polled(set_.entry(0), sender_);
  for (std::uint32_t left = 3; left != 0; left -= place.slot_count) {
    ASSERT_EQ(place.slot_count, std::min(left, warp_lanes())) << left;
    sender_.publish(place, [](std::uint32_t, std::uint32_t word) { return word; });
    if (left > place.slot_count) {
      place = sender_.reserve(std::min(left - place.slot_count, warp_lanes()));
    }
  }
  keep_up(set_.entry(0), sender_);
  EXPECT_EQ(events_of(set_, 0), 0u);
  EXPECT_EQ(reserve_polled(set_.entry(0), sender_).slot_count, 0u);
  EXPECT_FALSE(sender_.broken());
}

// Less room than for several is none: nothing of it is taken.
TEST_F(PollLaneTest, Row213AGrantForSeveralThatIsTakenBackEndsItsChannel) {
  give_room(world_, sender_, receiver_, 3);
  set_.put(0, sender_of(world_, {3}));
  keep_up(set_.entry(0), sender_);
  ASSERT_EQ(events_of(set_, 0), kPollOut);
  Packet& grant = *wires_of(world_.first(), kBand, 0).own_credit;
  grant.word[0] = 2;
  EXPECT_EQ(reserve_polled(set_.entry(0), sender_).slot_count, 0u);
  EXPECT_TRUE(sender_.broken());
  EXPECT_EQ(world_.pair.first->counts().sent.bad_field, 1u);
}

TEST_F(PollLaneTest, Row213ASlotOfAnEpochThatLooksAlikeIsReportedDroppedAndCounted) {
  LoopbackSample past{sample_layout(), kSampleEpoch + kEpochTagCount};
  LaneSender old_sender = open_sender(past.first(), kBand, 0);
  ASSERT_TRUE(send_one(old_sender, 5));
  ring_of(world_.second(), kBand, 0)[0] = *ring_of(past.second(), kBand, 0);
  wait_for_slots();
  ASSERT_EQ(events_of(set_, 0), kPollIn);
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(world_.pair.second->counts().received.stale_epoch, 1u);
  EXPECT_FALSE(receiver_.broken());
  EXPECT_TRUE(ask(set_).empty()) << "its place is used up";
}

}  // namespace
}  // namespace gcoord::netcore
