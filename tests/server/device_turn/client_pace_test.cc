#include "server/device_turn/client_pace.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::server {
namespace {

// Looks at the peers' lanes up to each of the next `count` looks at the clients' ring, all in vain.
std::vector<std::uint32_t> distances(ClientPace pace, std::uint32_t count) {
  std::vector<std::uint32_t> all;
  std::uint32_t looks = 0;
  while (all.size() < count) {
    ++looks;
    if (pace.is_due()) {
      pace.looked(false);
      all.push_back(looks);
      looks = 0;
    }
  }
  return all;
}

TEST(ClientPace, LooksInVainComeAtEverGreaterDistances) {
  using Distances = std::vector<std::uint32_t>;
  EXPECT_EQ(distances(client_pace(1, true), 5), (Distances{1, 8, 16, 16, 16}));
  EXPECT_EQ(distances(client_pace(16, true), 4), (Distances{1, 16, 16, 16}));
  EXPECT_EQ(distances(client_pace(256, true), 3), (Distances{1, 68, 68}));
  EXPECT_EQ(distances(client_pace(1, false), 4), (Distances{1, 1, 1, 1}));
  EXPECT_EQ(distances(client_pace(256, false), 3), (Distances{1, 18, 18}));
}

TEST(ClientPace, SomebodyWhoWasAnsweredIsLookedForSoon) {
  for (const std::uint32_t stripes : {1u, 16u, 64u, 256u}) {
    ClientPace pace = client_pace(stripes, true);
    distances(pace, 10);
    while (!pace.is_due()) {
    }
    pace.looked(false);
    pace.turned(TurnWork::Answers);
    EXPECT_EQ(pace.left, pace.turns) << stripes;
    const std::vector<std::uint32_t> after = distances(pace, 3);
    EXPECT_EQ(after[0], pace.turns) << stripes;
    EXPECT_EQ(after[1], 2 * pace.turns) << stripes;
    EXPECT_EQ(after[2], 4 * pace.turns < pace.most ? 4 * pace.turns : pace.most) << stripes;
  }
}

// Answers never make a stripe look more often than once in its turns, found something or not.
TEST(ClientPace, ManyStripesLookSeldomWhateverHappens) {
  for (const std::uint32_t stripes : {1u, 16u, 17u, 64u, 256u}) {
    for (const bool found : {false, true}) {
      ClientPace pace = client_pace(stripes, true);
      std::uint32_t seen = 0;
      for (std::uint32_t turn = 0; turn < 1000; ++turn) {
        if (pace.is_due()) {
          pace.looked(found);
          ++seen;
        }
        pace.turned(TurnWork::Answers);
      }
      EXPECT_LE(seen, 1 + 1000 / pace.turns) << stripes << " stripes, found " << found;
      EXPECT_GE(seen, 1000 / pace.turns - 1) << stripes << " stripes, found " << found;
    }
  }
}

// Whoever works is not waited for in vain after each of its turns, and still hears its clients.
TEST(ClientPace, TurnsOfOneRowBringALookNearerButNotAtOnce) {
  ClientPace pace = client_pace(1, true);
  std::uint32_t seen = 0;
  for (std::uint32_t turn = 0; turn < 1000; ++turn) {
    if (pace.is_due()) {
      pace.looked(false);
      ++seen;
    }
    pace.turned(TurnWork::One);
  }
  EXPECT_EQ(seen, 250u);
  pace.turned(TurnWork::Many);
  EXPECT_EQ(pace.left, 1u);
}

TEST(ClientPace, WhatFoundNoRoomIsLookedForAtOnce) {
  ClientPace pace = client_pace(256, true);
  EXPECT_TRUE(pace.is_due());
  pace.looked(true);
  pace.look_again();
  EXPECT_TRUE(pace.is_due());
}

}  // namespace
}  // namespace gcoord::server
