// Cases of a turn that run twice: by hosts with groups of one member (turn_test.cc), and by groups
// of 32 members as on a device (device_turn_warp_test.cc, warp_twin).
//
// A kind of nodes names its type, how many there are, and how much it is given to do, because
// groups of 32 take longer:
//   struct Kind {
//     using Node = ...;
//     static constexpr std::uint32_t kVoters = 3;
//     static constexpr FedNodes kFed{...};
//   };
// ctest names a case after its instantiation: DeviceTurn.X<Hosts>, DeviceTurnOfWarps.X<Warps>.
#pragma once

#include "common/random.h"
#include "tests/server/device_turn/turn_client.h"
#include "tests/server/device_turn/turn_world.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gcoord::server {

// One row on all nodes, one stripe each.
inline TurnClusterOptions one_row(std::uint64_t seed, std::uint32_t voters = kTurnNodes) {
  TurnClusterOptions options = small_cluster(seed, voters);
  options.shape.shard_count = 1;
  options.shape.stripe_count = 1;
  options.timing.limits = {.window_entries = 32, .uncommitted_entries = 32, .message_entries = 16};
  return options;
}

template <typename Node>
std::uint32_t leader_of_the_row(BasicWorld<Node>& world) {
  std::uint32_t n = 0;
  while (n + 1 < world.nodes() && world.counts(n).sum.led == 0) {
    ++n;
  }
  return n;
}

// Nodes that are fed four commands at a time, each for a number of turns.
struct FedNodes {
  std::uint32_t shard_count = 0;
  std::uint32_t block_stripes = 0;
  std::uint32_t turns_to_elect = 0;
  std::uint32_t turns_fed = 0;
  std::uint32_t turns_to_agree = 0;
  std::uint32_t commands_min = 0;  // Of a shard.
};

template <typename Kind>
class TurnOfNodes : public testing::Test {
 protected:
  using NodesWorld = BasicWorld<typename Kind::Node>;
};

TYPED_TEST_SUITE_P(TurnOfNodes);

TYPED_TEST_P(TurnOfNodes, FedCommandsAreAppliedEverywhereInOneOrder) {
  constexpr FedNodes kFed = TypeParam::kFed;
  TurnClusterOptions options = small_cluster(3, TypeParam::kVoters);
  options.shape.shard_count = kFed.shard_count;
  options.shape.block_stripes = kFed.block_stripes;
  typename TestFixture::NodesWorld world(options);
  world.turns(kFed.turns_to_elect);
  EXPECT_EQ(world.led(), kFed.shard_count);
  for (std::uint32_t n = 0; n < world.nodes(); ++n) {
    ASSERT_TRUE(world.cluster->feed(n, 4).ok());
  }
  world.turns(kFed.turns_fed);
  EXPECT_GT(agreed_commands(world, world.everyone()), kFed.shard_count * kFed.commands_min);
  for (std::uint32_t n = 0; n < world.nodes(); ++n) {
    ASSERT_TRUE(world.cluster->feed(n, 0).ok());
  }
  world.turns(kFed.turns_to_agree);
  expect_equal_everywhere(world, world.everyone());
  expect_nothing_lost(world);
}

TYPED_TEST_P(TurnOfNodes, OneCommandAtATimeIsDecidedWithoutTheClock) {
  constexpr std::uint32_t kVoters = TypeParam::kVoters;
  typename TestFixture::NodesWorld world(one_row(12, kVoters));
  world.turns(1000 * kVoters);
  const std::uint32_t leads = leader_of_the_row(world);
  ASSERT_TRUE(world.cluster->time_commands(leads, 100'000).ok());
  ASSERT_TRUE(world.cluster->wake(leads).ok());
  world.turns(20 * kVoters);
  world.step_tenths = 0;
  const auto decided = [&] { return world.cluster->node(leads).service.rows[0].count; };
  const std::uint64_t before = decided();
  world.turns(200 * kVoters);
  EXPECT_GT(decided(), before + 90);
  expect_nothing_lost(world);
}

// A follower that has missed commands finds more of them than an inbox holds. If then so many
// others stand still that it is needed, the command under way is behind all of those, and nobody
// sends it again but by a timer: it must not be lost.
template <typename Kind>
void miss_commands_and_carry_on(std::uint32_t missed) {
  constexpr std::uint32_t kVoters = Kind::kVoters;
  BasicWorld<typename Kind::Node> world(one_row(12, kVoters));
  world.turns(1000 * kVoters);
  const std::uint32_t leads = leader_of_the_row(world);
  ASSERT_TRUE(world.cluster->time_commands(leads, 100'000).ok());
  ASSERT_TRUE(world.cluster->wake(leads).ok());
  world.turns(20 * kVoters);
  world.step_tenths = 0;
  world.turns(100 * kVoters);
  const auto turn = [&world](std::uint32_t n) { world.host[n]->turn(world.now_ns); };
  const auto decided = [&] { return world.cluster->node(leads).service.rows[0].count; };
  const std::uint32_t slow = (leads + 1) % kVoters;
  const auto turn_others = [&](std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      turn((leads + 2 + k) % kVoters);
    }
  };
  for (std::uint32_t k = 0; k < missed; ++k) {
    turn(leads);
    turn_others(kVoters - 2);
  }
  turn(leads);
  const std::uint64_t before = decided();
  for (std::uint32_t k = 0; k < 20; ++k) {
    turn(slow);
    turn_others((kVoters - 3) / 2);
    turn(leads);
  }
  EXPECT_GT(decided(), before);
  expect_nothing_lost(world);
}

TYPED_TEST_P(TurnOfNodes, WhatAnInboxHasNoPlaceForWaitsForTheNextTurn) {
  for (const std::uint32_t missed : {7u, 8u, 12u, 16u, 40u}) {
    SCOPED_TRACE(missed);
    miss_commands_and_carry_on<TypeParam>(missed);
  }
}

// What is pushed together is found by one look: a command of several entries costs as many turns as
// one of a single entry.
TYPED_TEST_P(TurnOfNodes, RequestsThatAreFoundTogetherCostNoMoreTurnsThanOne) {
  constexpr std::uint32_t kVoters = TypeParam::kVoters;
  typename TestFixture::NodesWorld world(one_row(12, kVoters));
  world.turns(1000 * kVoters);
  const std::uint32_t leads = leader_of_the_row(world);
  world.turns(20 * kVoters);
  world.step_tenths = 0;
  Client client(world.cluster->client(leads), 0);
  std::uint64_t tag = 0;
  std::uint64_t turns_of_one = 0;
  for (const std::uint32_t together : {1u, 2u, 4u, 7u}) {
    const std::uint64_t before = world.counts(leads).sum.turns;
    for (std::uint32_t command = 0; command < 20; ++command) {
      for (std::uint32_t k = 0; k < together; ++k) {
        TurnRequest request;
        request.tag = ++tag;
        request.word[0] = mix64(tag);
        ASSERT_TRUE(client.ask(request));
      }
      std::uint32_t answered = 0;
      for (std::uint32_t k = 0; k < 20 * kVoters; ++k) {
        world.turns(1);
        while (client.answer().has_value()) {
          ++answered;
        }
      }
      ASSERT_EQ(answered, together);
    }
    const std::uint64_t turns = world.counts(leads).sum.turns - before;
    turns_of_one = together == 1 ? turns : turns_of_one;
    EXPECT_LE(turns, together <= 4 ? turns_of_one : 2 * turns_of_one) << together;
  }
  expect_equal_everywhere(world, world.everyone());
  expect_nothing_lost(world);
}

REGISTER_TYPED_TEST_SUITE_P(TurnOfNodes,
                            FedCommandsAreAppliedEverywhereInOneOrder,
                            OneCommandAtATimeIsDecidedWithoutTheClock,
                            WhatAnInboxHasNoPlaceForWaitsForTheNextTurn,
                            RequestsThatAreFoundTogetherCostNoMoreTurnsThanOne);

}  // namespace gcoord::server
