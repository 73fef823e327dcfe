// The queue of requests to a lane: order, growth while it is in use, and commands that stay whole.
#include "server/resident/engine/request_ring.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gcoord::server {
namespace {

void add(RequestRing& ring, std::uint64_t tag, bool piece) {
  TurnRequest& request = ring.push();
  request = TurnRequest{};
  request.tag = tag;
  request.head = piece ? locks::kEntryPiece : 1u;
}

// Takes what can go together, at most `most`; how many those were.
std::uint32_t drain(RequestRing& ring, std::size_t most, std::uint64_t& expected) {
  const std::uint32_t count = ring.whole(most);
  for (std::uint32_t left = count; left != 0;) {
    const auto run = ring.front(left);
    for (const TurnRequest& each : run) {
      EXPECT_EQ(each.tag, expected++);
    }
    ring.pop(run.size());
    left -= static_cast<std::uint32_t>(run.size());
  }
  return count;
}

TEST(RequestRing, KeepsTheOrderThroughGrowthAndTheEndOfItsMemory) {
  RequestRing ring;
  std::uint64_t tag = 0;
  std::uint64_t expected = 0;
  for (std::uint32_t round = 0; round < 200; ++round) {
    for (std::uint32_t k = 0; k < round % 97; ++k) {
      add(ring, tag++, false);
    }
    drain(ring, round % 53, expected);
  }
  drain(ring, ring.size(), expected);
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(expected, tag);
}

TEST(RequestRing, PiecesGoWithTheirCommandOrNotYet) {
  RequestRing ring;
  std::uint64_t tag = 0;
  std::uint64_t expected = 0;
  add(ring, tag++, false);
  for (std::uint32_t k = 0; k < 3; ++k) {
    add(ring, tag++, true);
  }
  add(ring, tag++, false);
  EXPECT_EQ(drain(ring, 4, expected), 1u);
  EXPECT_EQ(drain(ring, 3, expected), 0u);
  EXPECT_EQ(drain(ring, 4, expected), 4u);
  EXPECT_TRUE(ring.empty());
}

}  // namespace
}  // namespace gcoord::server
