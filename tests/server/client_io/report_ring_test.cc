// The bounded queue of reports, and the bell beside it.
#include "server/client_io/report_ring.h"

#include "server/client_io/loop_bell.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

namespace gcoord::server {
namespace {

TEST(ReportRing, ItemsComeInTheirOrderAndAFullRingTakesNone) {
  ReportRing<std::unique_ptr<int>> ring(2);
  EXPECT_TRUE(ring.push(std::make_unique<int>(1)));
  EXPECT_TRUE(ring.push(std::make_unique<int>(2)));
  auto third = std::make_unique<int>(3);
  EXPECT_FALSE(ring.push(std::move(third)));
  ASSERT_NE(third, nullptr) << "it is the caller's still";
  std::unique_ptr<int> item;
  ASSERT_TRUE(ring.pop(item));
  EXPECT_EQ(*item, 1);
  EXPECT_TRUE(ring.push(std::move(third)));
  ASSERT_TRUE(ring.pop(item));
  EXPECT_EQ(*item, 2);
  ASSERT_TRUE(ring.pop(item));
  EXPECT_EQ(*item, 3);
  EXPECT_FALSE(ring.pop(item));
}

// What an item holds is not atomic: the cursors order it (ThreadSanitizer looks).
TEST(ReportRing, TwoThreadsLoseNothing) {
  constexpr std::uint64_t kCount = 3'000;
  ReportRing<std::unique_ptr<std::uint64_t>> ring(64);
  std::thread producer([&] {
    for (std::uint64_t k = 0; k < kCount; ++k) {
      auto item = std::make_unique<std::uint64_t>(k);
      while (!ring.push(std::move(item))) {
        std::this_thread::yield();
      }
    }
  });
  std::unique_ptr<std::uint64_t> item;
  for (std::uint64_t k = 0; k < kCount; ++k) {
    while (!ring.pop(item)) {
      std::this_thread::yield();
    }
    EXPECT_EQ(*item, k);
  }
  producer.join();
}

bool readable(const LoopBell& bell) {
  pollfd fd{bell.fd(), POLLIN, 0};
  return ::poll(&fd, 1, 0) == 1;
}

TEST(LoopBell, WakesWhoSleepsOnceAndRefusesSleepWhenItHasRung) {
  LoopBell bell;
  bell.ring();
  EXPECT_FALSE(bell.arm()) << "it rang while the loop was awake";
  EXPECT_FALSE(readable(bell));
  bell.silence();
  EXPECT_TRUE(bell.arm());
  bell.ring();
  bell.ring();
  EXPECT_TRUE(readable(bell));
  EXPECT_EQ(bell.wake_count(), 1u);
  bell.answer();
  bell.silence();
  EXPECT_FALSE(readable(bell));
  bell.ring();
  EXPECT_FALSE(readable(bell)) << "the loop is awake";
}

// A sleeper that misses a ring would wait here for ever.
TEST(LoopBell, NoRingIsMissed) {
  constexpr int kRings = 2'000;
  LoopBell bell;
  std::atomic<int> rung{0};
  std::thread ringer([&] {
    for (int k = 1; k <= kRings; ++k) {
      rung.store(k, std::memory_order_relaxed);
      bell.ring();
    }
  });
  int seen = 0;
  while (seen < kRings) {
    bell.silence();
    seen = rung.load(std::memory_order_relaxed);
    if (seen < kRings && bell.arm()) {
      pollfd fd{bell.fd(), POLLIN, 0};
      ASSERT_EQ(::poll(&fd, 1, 20'000), 1);
      bell.answer();
    }
  }
  ringer.join();
}

}  // namespace
}  // namespace gcoord::server
