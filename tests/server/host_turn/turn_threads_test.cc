// The threads that work on the lanes of a turn.
#include "server/host_turn/turn_threads.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::server {
namespace {

TEST(TurnThreads, EveryTurnDoesEachLaneOnceAndEndsWithTheLast) {
  // Not atomic: the hand-over is what orders these (ThreadSanitizer looks).
  std::vector<std::uint64_t> done(4);
  std::uint64_t turn = 0;
  TurnThreads threads({.lane_count = 4}, [&](std::uint32_t lane) { done[lane] += turn; });
  std::uint64_t sum = 0;
  for (turn = 1; turn <= 300; ++turn) {
    threads.run();
    sum += turn;
    for (const std::uint64_t lane : done) {
      ASSERT_EQ(lane, sum);
    }
  }
}

TEST(TurnThreads, LanesHaveThreadsOfTheirOwnAndTheFirstHasTheOwners) {
  std::mutex mutex;
  std::vector<std::thread::id> ids(3);
  TurnThreads threads({.lane_count = 3}, [&](std::uint32_t lane) {
    const std::lock_guard lock(mutex);
    ids[lane] = std::this_thread::get_id();
  });
  threads.run();
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 3u);
}

TEST(TurnThreads, TheKernelsToolsShowThemByTheNumberOfTheirLane) {
  std::vector<std::string> names(3);
  TurnThreads threads({.lane_count = 3}, [&](std::uint32_t lane) {
    char name[16] = {};
    ::pthread_getname_np(::pthread_self(), name, sizeof name);
    names[lane] = name;
  });
  threads.run();
  EXPECT_EQ(names[1], "turn-1");
  EXPECT_EQ(names[2], "turn-2");
}

TEST(TurnThreads, ThreadsThatNeverRanEnd) {
  TurnThreads threads({.lane_count = 8}, [](std::uint32_t) { FAIL(); });
}

// The lane that hangs is named, the turn ends once it comes back after all.
TEST(TurnThreads, ALaneThatDoesNotComeBackIsTold) {
  std::atomic<bool> hangs{true};
  std::vector<std::uint32_t> stuck;
  TurnThreads threads({.lane_count = 3,
                       .stuck_ms = 40,
                       .on_stuck =
                           [&](std::uint32_t lane) {
                             stuck.push_back(lane);
                             hangs = false;
                             hangs.notify_all();
                           }},
                      [&](std::uint32_t lane) {
                        if (lane == 2) {
                          hangs.wait(true);
                        }
                      });
  threads.run();
  EXPECT_EQ(stuck, std::vector<std::uint32_t>{2});
  threads.run();
  EXPECT_EQ(stuck.size(), 1u);
}

}  // namespace
}  // namespace gcoord::server
