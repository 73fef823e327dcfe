// Poll sets over host memory for tests.
#pragma once

#include "netcore/gpu_channel/events.h"
#include "netcore/poll/gpu_poll.h"
#include "netcore/probe/poll_probe.h"
#include "tests/netcore/gpu_channel/lane_samples.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::netcore {

struct PollSample {
  explicit PollSample(std::uint32_t entries = 64) {
    GpuPollOptions options;
    options.entries = entries;
    auto made = GpuPoll::create(registry, options);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    poll = std::move(made).value();
  }

  PollSetDevice device() const { return poll->device(); }

  MemoryRegistry registry{make_host_memory()};
  std::unique_ptr<GpuPoll> poll;
};

// What is ready now, without waiting: at most one event, since a host's group has one member.
inline std::vector<PollEvent> ask(PollSet<>& set) {
  std::vector<PollEvent> events;
  set.wait({}).for_each([&](const PollEvent& event) { events.push_back(event); });
  return events;
}

// Waits as long as it takes, within reason.
inline PollEvent await_event(PollSet<>& set) {
  PollOptions options;
  options.deadline_ns = deadline_after(300 * kSecondNs);
  const PollBatch<> batch = set.wait(options);
  EXPECT_EQ(batch.status, WaitStatus::Ready);
  return batch.own;
}

// The events of entry `index` now, 0 if it is not ready, whatever else is.
inline std::uint32_t events_of(PollSet<>& set, std::uint32_t index) {
  for (std::uint32_t i = 0; i < set.count(); ++i) {
    for (const PollEvent& event : ask(set)) {
      if (event.index == index) {
        return event.events;
      }
    }
  }
  return 0;
}

}  // namespace gcoord::netcore
