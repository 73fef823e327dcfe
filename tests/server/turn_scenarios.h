// What happens to three nodes of either kind: hosts with groups of one member, or of 32
// (warp_twin).
#pragma once

#include "tests/server/device_turn/turn_world.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gcoord::server {

// One row on three nodes, one stripe each.
inline TurnClusterOptions one_row(std::uint64_t seed) {
  TurnClusterOptions options = small_cluster(seed);
  options.shape.shard_count = 1;
  options.shape.stripe_count = 1;
  options.timing.limits = {.window_entries = 32, .uncommitted_entries = 32, .message_entries = 16};
  return options;
}

template <typename Node>
std::uint32_t leader_of_the_row(BasicWorld<Node>& world) {
  std::uint32_t n = 0;
  while (n + 1 < kTurnNodes && world.counts(n).sum.led == 0) {
    ++n;
  }
  return n;
}

// A follower that has missed commands finds more of them than an inbox holds. If then the other one
// stands still, the command under way is behind all of those, and nobody sends it again but by a
// timer: it must not be lost.
template <typename Node>
void miss_commands_and_carry_on(std::uint32_t missed) {
  BasicWorld<Node> world(one_row(12));
  world.turns(3000);
  const std::uint32_t leads = leader_of_the_row(world);
  ASSERT_TRUE(world.cluster->time_commands(leads, 100'000).ok());
  ASSERT_TRUE(world.cluster->wake(leads).ok());
  world.turns(60);
  world.step_tenths = 0;
  world.turns(300);
  const auto turn = [&world](std::uint32_t n) { world.host[n]->turn(world.now_ns); };
  const auto decided = [&] { return world.cluster->node(leads).service.rows[0].count; };
  const std::uint32_t slow = (leads + 1) % kTurnNodes;
  const std::uint32_t other = (leads + 2) % kTurnNodes;
  for (std::uint32_t k = 0; k < missed; ++k) {
    turn(leads);
    turn(other);
  }
  turn(leads);
  const std::uint64_t before = decided();
  for (std::uint32_t k = 0; k < 20; ++k) {
    turn(slow);
    turn(leads);
  }
  EXPECT_GT(decided(), before);
  expect_nothing_lost(world);
}

}  // namespace gcoord::server
