// The ring between a thread that follows a lane and the loop: bounded, in order, and each side sees
// what the other one did before.
#include "server/resident/copy/event_ring.h"

#include <gtest/gtest.h>

#include <thread>

namespace gcoord::server {
namespace {

void push(EventRing& ring, std::uint64_t index) {
  CopyEvent* const event = ring.reserve();
  ASSERT_NE(event, nullptr);
  event->told.reply.index = LogIndex{index};
  ring.publish();
}

TEST(EventRing, TakesAsManyAsItHasRoomForAndGivesThemInOrder) {
  EventRing ring(3);
  EXPECT_EQ(ring.front(), nullptr);
  for (std::uint64_t lap = 0; lap < 5; ++lap) {
    for (std::uint64_t k = 1; k <= 3; ++k) {
      push(ring, 3 * lap + k);
    }
    EXPECT_EQ(ring.reserve(), nullptr);
    EXPECT_EQ(ring.size(), 3u);
    for (std::uint64_t k = 1; k <= 3; ++k) {
      ASSERT_NE(ring.front(), nullptr);
      EXPECT_EQ(ring.front()->told.reply.index.value, 3 * lap + k);
      ring.pop();
    }
    EXPECT_EQ(ring.front(), nullptr);
    EXPECT_TRUE(ring.has_popped(ring.pushed()));
  }
}

TEST(EventRing, WhatWasReservedAndNotPublishedIsNotThere) {
  EventRing ring(2);
  ring.reserve()->told.reply.index = LogIndex{7};
  EXPECT_EQ(ring.front(), nullptr);
  EXPECT_EQ(ring.pushed(), 0u);
  push(ring, 8);
  EXPECT_EQ(ring.front()->told.reply.index.value, 8u);
}

// Whoever reads says it for several events at once, and whenever it has had all that it knew of.
TEST(EventRing, WhatWasPoppedIsSaidNeverTooEarlyAndInTheEnd) {
  EventRing ring(EventRing::kPopsAtOnce + 3);
  for (std::uint64_t k = 1; k <= EventRing::kPopsAtOnce + 2; ++k) {
    push(ring, k);
  }
  EXPECT_TRUE(ring.has_popped(0));
  for (std::uint64_t k = 1; k <= EventRing::kPopsAtOnce + 2; ++k) {
    EXPECT_FALSE(ring.has_popped(k));
    ASSERT_NE(ring.front(), nullptr);
    EXPECT_FALSE(ring.has_popped(k));
    EXPECT_EQ(ring.second() == nullptr, k == EventRing::kPopsAtOnce + 2);
    ring.pop();
  }
  EXPECT_TRUE(ring.has_popped(EventRing::kPopsAtOnce + 2));
  EXPECT_EQ(ring.size(), 0u);
}

TEST(EventRing, AFullRingHasRoomAgainAsSoonAsItWasReadToItsEnd) {
  EventRing ring(2);
  for (std::uint64_t lap = 0; lap < 20; ++lap) {
    push(ring, 2 * lap);
    push(ring, 2 * lap + 1);
    EXPECT_EQ(ring.reserve(), nullptr);
    for (std::uint64_t k = 0; k < 2; ++k) {
      ASSERT_NE(ring.front(), nullptr);
      EXPECT_EQ(ring.front()->told.reply.index.value, 2 * lap + k);
      ring.pop();
    }
    EXPECT_EQ(ring.front(), nullptr);
  }
}

class EventRingOf : public testing::TestWithParam<std::uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Places, EventRingOf, testing::Values(1, 3, 8, 100));

TEST_P(EventRingOf, TwoThreadsPassEventsWithWhatStandsInThem) {
  constexpr std::uint64_t kEvents = 20'000;
  EventRing ring(GetParam());
  std::thread follower([&ring] {
    for (std::uint64_t k = 1; k <= kEvents;) {
      if (CopyEvent* const event = ring.reserve()) {
        event->told.reply.index = LogIndex{k};
        event->name.assign(k % 30, 'x');
        ring.publish();
        ++k;
      } else {
        std::this_thread::yield();
      }
    }
  });
  for (std::uint64_t k = 1; k <= kEvents;) {
    if (const CopyEvent* const event = ring.front()) {
      ASSERT_EQ(event->told.reply.index.value, k);
      ASSERT_EQ(event->name.size(), k % 30);
      ring.expect();
      if (const CopyEvent* const second = ring.second()) {
        ASSERT_EQ(second->told.reply.index.value, k + 1);
      }
      ring.pop();
      ++k;
    } else {
      std::this_thread::yield();
    }
  }
  follower.join();
  EXPECT_EQ(ring.front(), nullptr);
}

}  // namespace
}  // namespace gcoord::server
