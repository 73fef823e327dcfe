// Many lanes and one who waits for them, between threads: the orders that a device uses, under
// ThreadSanitizer in that preset. And what a hostile peer can do to it.
#include "netcore/probe/poll_probe.h"

#include "tests/netcore/poll_samples.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace gcoord::netcore {
namespace {

constexpr Band kBand = Band::Consensus;

PollProbeWork work_over(const LoopbackSample& world,
                        const PollSample& sample,
                        PollProbeResult& result) {
  PollProbeWork work;
  work.set = sample.device();
  work.channel = world.second();
  work.lane_count = world.second().layout.band[1].lane_count;
  work.probe.timeout_ns = 300 * kSecondNs;
  work.probe.seed = 21;
  work.result = &result;
  return work;
}

TEST(PollProbe, Row213EverySlotOfManyLanesIsReceivedOnce) {
  constexpr std::uint32_t kLanes = 9;
  for (const std::uint32_t payload : {0u, 512u}) {
    LoopbackSample world{sample_layout(kLanes, 16)};
    PollSample sample;
    PollProbeResult result;
    PollProbeWork work = work_over(world, sample, result);
    work.probe.slot_count = 1'500;
    work.probe.payload_bytes = payload;
    std::vector<std::thread> senders;
    for (std::uint32_t third = 0; third < 3; ++third) {
      senders.emplace_back([&, third] {
        for (std::uint32_t lane = third; lane < kLanes; lane += 3) {
          EXPECT_EQ(probe_send(world.first(), lane, work.probe).status, WaitStatus::Ready);
        }
      });
    }
    run_poll_probe<PollProbeKind::Receive>(work);
    for (std::thread& sender : senders) {
      sender.join();
    }
    EXPECT_EQ(result.status, WaitStatus::Ready);
    EXPECT_EQ(result.slots, kLanes * work.probe.slot_count);
    EXPECT_EQ(result.wrong_words, 0u);
    EXPECT_EQ(result.empty, 0u) << "nothing was reported that was not there";
  }
}

TEST(PollProbe, Row213AnEchoComesBackFromWhicheverLane) {
  LoopbackSample world{sample_layout(40)};
  PollSample sample;
  PollProbeResult echoed;
  PollProbeWork echo = work_over(world, sample, echoed);
  echo.probe.slot_count = 500;
  std::vector<std::uint32_t> round_trips(echo.probe.slot_count);
  PollProbeResult sent;
  PollProbeWork ping = echo;
  ping.channel = world.first();
  ping.round_trip_ns = round_trips.data();
  ping.result = &sent;
  std::thread other{[&] { run_poll_probe<PollProbeKind::Echo>(echo); }};
  run_poll_probe<PollProbeKind::Ping>(ping);
  other.join();
  EXPECT_EQ(sent.status, WaitStatus::Ready);
  EXPECT_EQ(sent.slots, 500u);
  EXPECT_EQ(sent.wrong_words + echoed.wrong_words, 0u);
  EXPECT_EQ(echoed.empty, 0u);
}

TEST(PollProbe, Row213AndRow167TwelveThousandLanesInOneSet) {
  constexpr std::uint32_t kPerBand = 4'000;
  LaneLayoutOptions layout;
  for (std::size_t band = 1; band < kBandCount; ++band) {
    layout.band[band] = {kPerBand, 8, 0};
  }
  LoopbackSample world{layout};
  PollSample sample{3 * kPerBand};
  PollSet<> set{sample.device()};
  const auto band_of = [](std::uint32_t index) { return static_cast<Band>(1 + index / kPerBand); };
  for (std::uint32_t index = 0; index < 3 * kPerBand; ++index) {
    set.put(index,
            receiver_entry(world.second(),
                           band_of(index),
                           index % kPerBand,
                           world.second().states[index].receiver));
  }
  for (std::uint32_t index = 0; index < 3 * kPerBand; index += 37) {
    LaneSender sender = open_sender(world.first(), band_of(index), index % kPerBand);
    ASSERT_TRUE(send_one(sender, index));
  }
  for (std::uint32_t index = 0; index < 3 * kPerBand; index += 37) {
    const std::vector<PollEvent> events = ask(set);
    ASSERT_EQ(events.size(), 1u);
    ASSERT_EQ(events[0].index, index) << "in the order of the set";
    LaneReceiver receiver = open_receiver(world.second(), band_of(index), index % kPerBand);
    ASSERT_EQ(receive_polled(set.entry(index),
                             receiver,
                             1,
                             [&](const SlotTile& tile) { ASSERT_TRUE(is_sample(tile, index)); }),
              1u);
  }
  EXPECT_TRUE(ask(set).empty());
}

// A peer that writes anything anywhere it may, while another channel's lane is in the same set.
TEST(PollProbe, Row213GarbageEndsItsChannelIsCountedAndHarmsNobodyElse) {
  std::uint32_t ended = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    LoopbackSample world;
    LoopbackSample bystander;
    PollSample sample;
    PollSet<> set{sample.device()};
    LaneReceiver receiver = open_receiver(world.second(), kBand, 0);
    LaneSender back = open_sender(world.second(), kBand, 0);
    LaneReceiver good = open_receiver(bystander.second(), kBand, 0);
    LaneSender sender = open_sender(world.first(), kBand, 0);
    LaneSender good_sender = open_sender(bystander.first(), kBand, 0);
    set.put(0, receiver_entry(world.second(), kBand, 0, receiver.state()));
    set.put(1, sender_entry(world.second(), kBand, 0, back.state()));
    set.put(2, receiver_entry(bystander.second(), kBand, 0, good.state()));
    std::uint64_t empty = 0;
    for (std::uint32_t round = 0; round < 40; ++round) {
      const std::uint64_t word = random64(seed, round, 0);
      send_one(sender, round);
      ASSERT_TRUE(send_one(good_sender, round));
      auto* packets = reinterpret_cast<Packet*>(world.second().own_region + kGrantsOffset);
      const auto count = static_cast<std::uint32_t>(
          (slots_offset(world.second().layout, kBand, 0) + 8 * sizeof(SealedSlot) - kGrantsOffset) /
          sizeof(Packet));
      for (std::uint32_t hit = 0; hit < word % 3; ++hit) {
        Packet garbage;
        garbage.word[0] = static_cast<std::uint32_t>(random64(seed, round, 4 + hit) % 16);
        garbage.word[2] = word % 2 == 0 ? kSampleEpoch : static_cast<std::uint32_t>(word);
        garbage.stamp = word % 5 == 0 ? packet_stamp(kSampleEpoch, word % 4) : 0;
        SystemOrder::put(packets[random_below(random64(seed, round, 7 + hit), count)], garbage);
      }
      bool good_came = false;
      for (std::uint32_t look = 0; look < 3; ++look) {
        for (const PollEvent& event : ask(set)) {
          // Whatever is told of an end, its next call judges.
          if (event.index == 0) {
            const std::uint32_t came =
                receive_polled(set.entry(0), receiver, 1, [](const SlotTile&) {});
            empty += came == 0 && (event.events & kPollIn) != 0 ? 1u : 0u;
          } else if (event.index == 1) {
            const Reservation place = reserve_polled(set.entry(1), back);
            empty += place.slot_count == 0 && (event.events & kPollOut) != 0 ? 1u : 0u;
          } else if (event.index == 2) {
            ASSERT_EQ(event.events, kPollIn);
            ASSERT_EQ(
                receive_polled(set.entry(2),
                               good,
                               1,
                               [&](const SlotTile& tile) { ASSERT_TRUE(is_sample(tile, round)); }),
                1u);
            good_came = true;
          }
        }
      }
      ASSERT_TRUE(good_came) << "three looks find each of three";
    }
    const GpuChannelCounts counts = world.pair.second->counts();
    const std::uint64_t counted = counts.received.stale_epoch + counts.received.credit_overrun +
                                  counts.received.bad_length + counts.received.bad_field +
                                  counts.sent.credit_overrun + counts.sent.bad_field;
    ASSERT_LE(empty, counted) << "seed " << seed;
    ended += world.pair.second->fault() != DropReason::None ? 1u : 0u;
  }
  EXPECT_GT(ended, 30u) << "the garbage is too tame to show anything";
}

}  // namespace
}  // namespace gcoord::netcore
