// Events between a host and kernels, whose part a thread of the host plays here.
#include "netcore/gpu_channel/events.h"

#include "tests/netcore/poll_samples.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <thread>

namespace gcoord::netcore {
namespace {

// Is the descriptor readable within so many milliseconds? -1: however long it takes.
bool is_readable(int fd, int timeout_ms) {
  pollfd waited{fd, POLLIN, 0};
  return ::poll(&waited, 1, timeout_ms) == 1 && (waited.revents & POLLIN) != 0;
}

class GpuEventsTest : public testing::Test {
 protected:
  void make(std::uint32_t words, std::uint32_t bells) {
    GpuEventsOptions options;
    options.words = words;
    options.bells = bells;
    auto made = GpuEvents::create(registry_, options);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    events_ = std::move(made).value();
    const auto fd = events_->event_fd();
    ASSERT_TRUE(fd.ok()) << fd.status().to_string();
    fd_ = fd.value();
  }

  MemoryRegistry registry_{make_host_memory()};
  std::unique_ptr<GpuEvents> events_;
  int fd_ = -1;
};

TEST_F(GpuEventsTest, Row213ARaiseWakesWhoWaitsForTheWord) {
  make(2, 1);
  PollSample sample;
  PollSet<> set{sample.device()};
  set.put(0, word_entry(events_->word(0), 0));
  set.put(1, word_entry(events_->word(1), 0));
  std::uint64_t content = 0;
  std::thread host{[&] {
    content = 42;
    EXPECT_TRUE(events_->raise(1).ok());
  }};
  const PollEvent event = await_event(set);
  EXPECT_EQ(event.index, 1u);
  EXPECT_EQ(event.value, 1u);
  EXPECT_EQ(content, 42u) << "what was written before the raise is there";
  host.join();
  set.see(1, event.value);
  EXPECT_TRUE(ask(set).empty());
  EXPECT_TRUE(events_->raise(1).ok());
  EXPECT_TRUE(events_->raise(1).ok());
  EXPECT_EQ(ask(set)[0].value, 3u) << "raised twice before anybody looked";
}

TEST_F(GpuEventsTest, Row213ABellMakesTheDescriptorReadableUntilItIsTaken) {
  make(0, 3);
  EXPECT_FALSE(is_readable(fd_, 0));
  EXPECT_FALSE(events_->take().has_value());
  std::uint64_t content = 0;
  std::thread kernel{[&] {
    BellRinger<> ringer{events_->bell(2)};
    content = 42;
    ringer.ring();
    ringer.ring();
  }};
  EXPECT_TRUE(is_readable(fd_, -1));
  kernel.join();
  EXPECT_TRUE(is_readable(fd_, 0)) << "a level";
  const auto taken = events_->take();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->bell, 2u);
  EXPECT_EQ(taken->rings, 2u);
  EXPECT_EQ(content, 42u);
  EXPECT_FALSE(events_->take().has_value());
  EXPECT_FALSE(is_readable(fd_, 0));
}

TEST_F(GpuEventsTest, Row213BellsAreTakenInTurnsAndTheDescriptorStaysReadableUntilTheLast) {
  make(0, 3);
  for (const std::uint32_t bell : {0u, 1u, 2u}) {
    BellRinger<>{events_->bell(bell)}.ring();
  }
  for (const std::uint32_t bell : {0u, 1u, 2u}) {
    EXPECT_TRUE(is_readable(fd_, -1));
    BellRinger<>{events_->bell(0)}.ring();
    EXPECT_EQ(events_->take()->bell, bell) << "bell 0 is rung all the time and comes last";
  }
  EXPECT_EQ(events_->take()->bell, 0u);
  EXPECT_FALSE(events_->take().has_value());
}

TEST_F(GpuEventsTest, Row213AProgramThatReadsTheDescriptorHearsOfTheNextRingToo) {
  make(0, 1);
  BellRinger<> ringer{events_->bell(0)};
  for (std::uint64_t round = 1; round <= 50; ++round) {
    ringer.ring();
    EXPECT_TRUE(is_readable(fd_, -1));
    std::uint64_t count = 0;
    EXPECT_EQ(::read(fd_, &count, sizeof count), static_cast<ssize_t>(sizeof count));
  }
  EXPECT_EQ(events_->take()->rings, 50u);
}

TEST_F(GpuEventsTest, Row213RaisesGoInAndRingsComeOutAndNoneIsLost) {
  constexpr std::uint32_t kWords = 7;
  constexpr std::uint64_t kRaises = 700;
  for (const bool alone : {false, true}) {
    make(kWords, 1);
    PollSample sample;
    PollProbeResult result;
    PollProbeWork work;
    work.set = sample.device();
    work.probe.slot_count = kRaises;
    work.probe.timeout_ns = 300 * kSecondNs;
    work.word_count = kWords;
    work.words = events_->word(0);
    work.bell = events_->bell(0);
    work.result = &result;
    std::thread kernel{[&] {
      alone ? run_poll_probe<PollProbeKind::WakeAlone>(work)
            : run_poll_probe<PollProbeKind::Wake>(work);
    }};
    std::uint64_t rings = 0;
    for (std::uint32_t raise = 0; raise < kRaises; ++raise) {
      ASSERT_TRUE(events_->raise(raise % kWords).ok());
      if (raise % 3 == 0) {
        ASSERT_TRUE(is_readable(fd_, -1)) << "an answer comes";
        rings += events_->take()->rings;
      }
    }
    kernel.join();
    while (const auto taken = events_->take()) {
      rings += taken->rings;
    }
    EXPECT_EQ(result.status, WaitStatus::Ready);
    EXPECT_EQ(result.slots, kRaises);
    EXPECT_EQ(rings, result.events);
  }
}

TEST_F(GpuEventsTest, Row213TheListenerEndsWithItsObjectWhateverIsRung) {
  make(1, 2);
  BellRinger<>{events_->bell(1)}.ring();
  events_.reset();
  EXPECT_TRUE(registry_.ranges().empty());
  GpuEventsOptions options;
  options.words = kGpuEventsMax + 1;
  EXPECT_EQ(GpuEvents::create(registry_, options).status().code(), StatusCode::InvalidArgument);
}

}  // namespace
}  // namespace gcoord::netcore
