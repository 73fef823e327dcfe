// Poll sets on devices: many lanes and one warp, events from and to the host, ends of waits,
// garbage. Needs a GPU; where there is none, every case says so and is skipped.
#include "netcore/poll/gpu_poll.h"

#include "netcore/gpu_channel/events.h"
#include "netcore/probe/channel_probe_job.h"
#include "netcore/probe/poll_probe_job.h"
#include "netcore/ticket/gpu_lock.h"
#include "tests/netcore/gpu_channel/gpu_test.h"
#include "tests/netcore/gpu_channel/lane_samples.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::netcore {
namespace {

constexpr std::uint64_t kTimeoutNs = 20 * kSecondNs;

// One device's end of a channel, with a poll set there.
struct PollSide {
  PollSide(std::uint32_t number, std::unique_ptr<MemorySource> memory)
      : device(number), registry(std::move(memory)) {}

  std::uint32_t device;
  MemoryRegistry registry;
  std::unique_ptr<GpuChannel> channel;
  std::unique_ptr<GpuPoll> poll;
};

class GpuPollTest : public GpuTest {
 protected:
  std::unique_ptr<PollSide> side(std::uint32_t device, std::uint32_t lanes) {
    auto made = std::make_unique<PollSide>(device, memory_of(device));
    GpuPollOptions options;
    options.entries = lanes;
    auto poll = GpuPoll::create(made->registry, options);
    EXPECT_TRUE(poll.ok()) << poll.status().to_string();
    made->poll = std::move(poll).value();
    return made;
  }

  // Two ends of a channel of `lanes` lanes.
  void join(PollSide& first, PollSide& second, std::uint32_t lanes) {
    GpuChannelOptions options;
    options.layout.band[1] = {lanes, 64, 0};
    options.epoch = kSampleEpoch;
    for (PollSide* each : {&first, &second}) {
      auto channel = GpuChannel::create(each->registry, options);
      ASSERT_TRUE(channel.ok()) << channel.status().to_string();
      each->channel = std::move(channel).value();
    }
    attach(first, second);
    attach(second, first);
  }

  static void attach(PollSide& to, const PollSide& from) {
    if (to.device == from.device) {  // One address for one place, as within any device.
      to.channel->attach(from.channel->region(), false);
      return;
    }
    const MemoryRange& region = from.channel->region();
    auto mapped = to.registry.import(region.fd, region_bytes(from.channel->options().layout));
    ASSERT_TRUE(mapped.ok()) << mapped.status().to_string();
    to.channel->attach(mapped.value(), true);
  }

  static PollProbeWork work_of(const PollSide& at, std::uint32_t lanes, std::uint64_t slots) {
    PollProbeWork work;
    work.set = at.poll->device();
    work.channel = at.channel->device();
    work.lane_count = lanes;
    work.probe.slot_count = slots;
    work.probe.timeout_ns = kTimeoutNs;
    work.probe.seed = 9;
    return work;
  }

  static std::unique_ptr<PollProbeJob> start(std::uint32_t device,
                                             PollProbeKind kind,
                                             const PollProbeWork& work) {
    PollProbeJobOptions options;
    options.device = device;
    options.kind = kind;
    options.work = work;
    auto job = PollProbeJob::start(options);
    EXPECT_TRUE(job.ok()) << job.status().to_string();
    return std::move(job).value();
  }

  static PollProbeResult end(PollProbeJob& job) {
    const auto result = job.finish();
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return result.ok() ? result.value() : PollProbeResult{};
  }

  // Streams `slots` on each lane from one side to a single warp of the other.
  void stream(PollSide& from, PollSide& to, std::uint32_t lanes, std::uint64_t slots) {
    const PollProbeWork work = work_of(to, lanes, slots);
    const auto receiver = start(to.device, PollProbeKind::Receive, work);
    ProbeJobOptions sending;
    sending.device = from.device;
    sending.kind = ProbeKind::Send;
    sending.channel = from.channel->device();
    sending.probe = work.probe;
    sending.lane_count = lanes;
    const auto sender = ProbeJob::start(sending);
    ASSERT_TRUE(sender.ok()) << sender.status().to_string();
    const PollProbeResult received = end(*receiver);
    ASSERT_TRUE(sender.value()->finish().ok());
    EXPECT_EQ(received.status, WaitStatus::Ready);
    EXPECT_EQ(received.slots, lanes * slots);
    EXPECT_EQ(received.wrong_words, 0u);
    EXPECT_EQ(received.empty, 0u) << "nothing was reported that was not there";
  }

  void echo(PollSide& near, PollSide& far, std::uint32_t lanes, std::uint64_t slots) {
    const auto other = start(far.device, PollProbeKind::Echo, work_of(far, lanes, slots));
    const auto ping = start(near.device, PollProbeKind::Ping, work_of(near, lanes, slots));
    const PollProbeResult sent = end(*ping);
    const PollProbeResult echoed = end(*other);
    EXPECT_EQ(sent.status, WaitStatus::Ready);
    EXPECT_EQ(sent.slots, slots);
    EXPECT_EQ(echoed.slots, slots);
    EXPECT_EQ(sent.wrong_words + echoed.wrong_words, 0u);
    EXPECT_EQ(echoed.empty, 0u);
  }
};

TEST_F(GpuPollTest, Row213OneWarpReceivesFromManyLanesWithoutAWrongWord) {
  for (const std::uint32_t lanes : {1u, 31u, 33u, 1'024u}) {
    const auto first = side(0, lanes);
    const auto second = side(0, lanes);
    join(*first, *second, lanes);
    stream(*first, *second, lanes, lanes == 1 ? 100'000 : 2'000);
    stream(*second, *first, lanes, 500);
  }
}

TEST_F(GpuPollTest, Row213EchoesComeBackFromWhicheverLane) {
  for (const std::uint32_t lanes : {1u, 32u, 1'024u}) {
    const auto first = side(0, lanes);
    const auto second = side(0, lanes);
    join(*first, *second, lanes);
    echo(*first, *second, lanes, 5'000);
  }
}

TEST_F(GpuPollTest, Row213TwoDevicesOverNvlink) {
  if (count_ < 2) {
    GTEST_SKIP() << "skipped: lanes over NVLink need two devices, here is one";
  }
  const Status reaches = gpu_reaches(0, 1);
  if (!reaches.ok()) {
    GTEST_SKIP() << "skipped: " << reaches.to_string();
  }
  const auto first = side(0, 256);
  const auto second = side(1, 256);
  join(*first, *second, 256);
  stream(*first, *second, 256, 2'000);
  // What an echo brings is told by its cursor, which is the same both ways in new channels only.
  const auto near = side(1, 256);
  const auto far = side(0, 256);
  join(*near, *far, 256);
  echo(*near, *far, 256, 2'000);
}

TEST_F(GpuPollTest, Row213TheHostWakesKernelsAndTheyWakeIt) {
  constexpr std::uint32_t kWords = 40;
  constexpr std::uint32_t kRaises = 400;
  for (const PollProbeKind kind : {PollProbeKind::Wake, PollProbeKind::WakeAlone}) {
    for (const MemoryKind words : {MemoryKind::Private, MemoryKind::Pinned}) {
      const auto at = side(0, kWords);
      GpuEventsOptions options;
      options.words = kWords;
      options.word_kind = words;
      auto made = GpuEvents::create(at->registry, options);
      ASSERT_TRUE(made.ok()) << made.status().to_string();
      const std::unique_ptr<GpuEvents> events = std::move(made).value();
      const auto fd = events->event_fd();
      ASSERT_TRUE(fd.ok()) << fd.status().to_string();
      PollProbeWork work;
      work.set = at->poll->device();
      work.probe.slot_count = kRaises;
      work.probe.timeout_ns = kTimeoutNs;
      work.word_count = kWords;
      work.words = events->word(0);
      work.bell = events->bell(0);
      const auto kernel = start(0, kind, work);
      std::uint64_t rings = 0;
      for (std::uint32_t raise = 0; raise < kRaises; ++raise) {
        ASSERT_TRUE(events->raise(raise * 7 % kWords).ok());
        pollfd waited{fd.value(), POLLIN, 0};
        ASSERT_EQ(::poll(&waited, 1, 20'000), 1) << "no answer to raise " << raise;
        while (const auto taken = events->take()) {
          rings += taken->rings;
        }
      }
      const PollProbeResult result = end(*kernel);
      EXPECT_EQ(result.status, WaitStatus::Ready);
      EXPECT_EQ(result.slots, kRaises);
      EXPECT_EQ(rings, result.events);
    }
  }
}

TEST_F(GpuPollTest, Row213WaitsEndAtTheirDeadlineAtAnAbortAndWhenTheirSetIsClosed) {
  for (const std::uint32_t lanes : {1u, 1'024u}) {
    const auto first = side(0, lanes);
    const auto second = side(0, lanes);
    join(*first, *second, lanes);
    PollProbeWork work = work_of(*second, lanes, 1);
    work.probe.timeout_ns = kSecondNs / 10;
    EXPECT_EQ(end(*start(0, PollProbeKind::Receive, work)).status, WaitStatus::TimedOut);
    const auto aborted = start(0, PollProbeKind::Receive, work_of(*second, lanes, 1));
    ASSERT_TRUE(second->poll->abort().ok());
    EXPECT_EQ(end(*aborted).status, WaitStatus::Aborted);
    const auto closed = start(0, PollProbeKind::Receive, work_of(*first, lanes, 1));
    ASSERT_TRUE(first->poll->close().ok());
    EXPECT_EQ(end(*closed).status, WaitStatus::EpochChanged);
  }
}

TEST_F(GpuPollTest, Row213AChannelThatEndsHangsUpWhoWaitsForItsLanes) {
  const auto first = side(0, 64);
  const auto second = side(0, 64);
  join(*first, *second, 64);
  const auto waiting = start(0, PollProbeKind::Receive, work_of(*second, 64, 1));
  ASSERT_TRUE(second->channel->close().ok());
  const PollProbeResult result = end(*waiting);
  EXPECT_EQ(result.status, WaitStatus::EpochChanged);
  EXPECT_NE(result.events, 0u) << "it was told of its entries and not of its set";
}

TEST_F(GpuPollTest, Row213GarbageIsAnErrorOrNothingAndTheDeviceWorksOn) {
  const auto first = side(0, 64);
  const auto second = side(0, 64);
  join(*first, *second, 64);
  const LaneLayoutOptions& layout = second->channel->options().layout;
  std::byte* slots = second->channel->region().address + slots_offset(layout, Band::Consensus, 0);
  // Another channel's, as far as can be told: nothing comes, and the wait ends in time.
  const std::vector<std::byte> ones(lane_bytes(layout.band[1]) * 64, std::byte{0xff});
  ASSERT_TRUE(second->registry.source().write(slots, ones).ok());
  PollProbeWork work = work_of(*second, 64, 1);
  work.probe.timeout_ns = kSecondNs / 10;
  EXPECT_EQ(end(*start(0, PollProbeKind::Receive, work)).status, WaitStatus::TimedOut);
  // Of this channel, from a lap that nobody was granted.
  const auto waiting = start(0, PollProbeKind::Receive, work_of(*second, 64, 1));
  Packet lie;
  lie.stamp = packet_stamp(kSampleEpoch, 5);
  ASSERT_TRUE(
      second->registry.source().write(slots, std::as_bytes(std::span<const Packet>{&lie, 1})).ok());
  EXPECT_EQ(end(*waiting).status, WaitStatus::ChannelReset);
  EXPECT_EQ(second->channel->fault(), DropReason::CreditOverrun);
  const auto third = side(0, 64);
  const auto fourth = side(0, 64);
  join(*third, *fourth, 64);
  stream(*third, *fourth, 64, 1'000);
}

TEST_F(GpuPollTest, Row213WarpsThatWaitForTicketsInSetsLoseNothing) {
  constexpr std::uint32_t kGroups = kPollProbeGroupsMax;
  const auto at = side(0, kGroups);
  GpuTicketLockOptions options;
  options.layout = {kGroups, 2 * kGroups};
  const auto lock = GpuTicketLock::create(at->registry, options);
  const auto guarded = at->registry.allocate(MemoryKind::Private, sizeof(TicketGuarded));
  const auto waits = at->registry.allocate(MemoryKind::Private, kGroups * sizeof(TicketWait));
  ASSERT_TRUE(lock.ok() && guarded.ok() && waits.ok());
  PollProbeWork work;
  work.set = at->poll->device();
  work.probe.slot_count = 500;
  work.probe.timeout_ns = kTimeoutNs;
  work.tickets = {lock.value()->device(),
                  reinterpret_cast<TicketGuarded*>(guarded.value().address),
                  reinterpret_cast<TicketWait*>(waits.value().address),
                  200};
  work.group_count = kGroups;
  const PollProbeResult sum = end(*start(0, PollProbeKind::Tickets, work));
  EXPECT_EQ(sum.status, WaitStatus::Ready);
  EXPECT_EQ(sum.wrong_words, 0u);
  TicketGuarded found;
  ASSERT_TRUE(at->registry.source()
                  .read(std::as_writable_bytes(std::span{&found, 1}), guarded.value().address)
                  .ok());
  for (const std::uint64_t word : found.holds) {
    EXPECT_EQ(word, sum.slots);
  }
  EXPECT_GT(sum.slots, kGroups * 300u);
}

}  // namespace
}  // namespace gcoord::netcore
