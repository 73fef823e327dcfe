// What changes a word that several processors change, on the host; devices run the same functions
// in tests/netcore/gpu_channel/gpu_ticket_test.cc.
#include "common/device/memory_device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace gcoord {
namespace {

TEST(MemoryDevice, ASwapSaysWhatItFoundAndStoresOnlyWhereThatWasExpected) {
  for (const auto swap : {&swap_if_system, &swap_if_device}) {
    std::uint64_t word = 5;
    EXPECT_EQ(swap(&word, 4, 9), 5u);
    EXPECT_EQ(word, 5u);
    EXPECT_EQ(swap(&word, 5, 9), 5u);
    EXPECT_EQ(word, 9u);
  }
}

TEST(MemoryDevice, EveryAdditionReturnsAnotherNumber) {
  constexpr std::uint64_t kEach = 5'000;
  std::uint64_t word = 0;
  std::vector<std::uint32_t> drawn(4 * kEach);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t draw = 0; draw < kEach; ++draw) {
        ++drawn[add_relaxed_system(&word, 1)];
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(drawn, std::vector<std::uint32_t>(4 * kEach, 1));
}

TEST(MemoryDevice, ASwapPublishesWhatWasWrittenBeforeIt) {
  constexpr std::uint64_t kTurns = 2'000;
  std::uint64_t turn = 0;
  std::uint64_t guarded = 0;  // Written with ordinary stores, in turns.
  const auto play = [&](std::uint64_t self) {
    for (std::uint64_t mine = self; mine < kTurns; mine += 2) {
      // Bounded by the other's progress; ends when its turns do.
      while (swap_if_system(&turn, 2 * mine, 2 * mine + 1) != 2 * mine) {
        std::this_thread::yield();
      }
      ++guarded;
      EXPECT_EQ(swap_if_system(&turn, 2 * mine + 1, 2 * mine + 2), 2 * mine + 1);
    }
  };
  std::thread other{play, 1};
  play(0);
  other.join();
  EXPECT_EQ(guarded, kTurns);
}

}  // namespace
}  // namespace gcoord
