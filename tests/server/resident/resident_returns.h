// Returns of a node that has forgotten what it promised, in memory mode and after the loss of its
// data directory: what both have in common. A world is a ResidentWorld with lose(n), after which
// nobody finds the node, and find(n).
#pragma once

#include "tests/server/resident/engine/resident_world.h"

#include <cstdint>

namespace gcoord::server {

struct ReturnPace {
  std::uint32_t rounds = 0;
  std::uint32_t missed_turns = 0;  // The others miss it and lead on.
  std::uint32_t needed_turns = 0;  // They need it for every decision.
  std::uint32_t rest_turns = 0;
};

// In turn each node is lost and found; then one of the others is away, so that every decision is
// the returned node's, too. returned(n) looks on once it is whole.
template <typename World, typename Returned>
void return_and_count(World& world, const ReturnPace& pace, Returned returned) {
  world.work(12);
  for (std::uint32_t round = 0; round < pace.rounds; ++round) {
    const std::uint32_t victim = round % kTurnNodes;
    world.lose(victim);
    world.turns(pace.missed_turns);
    EXPECT_EQ(world.led_by(victim), 0u);
    world.work(12);
    world.find(victim);
    world.heal();
    returned(victim);
    world.paused = (victim + 1) % kTurnNodes;
    world.turns(pace.needed_turns);
    world.work(12);
    world.paused = kTurnNodes;
    world.turns(pace.rest_turns);
  }
  world.expect_told_alike();
}

// Only the leader remembers and turns: it must not take the node that is back for a majority.
// meanwhile(leader, victim) looks on before the third node is there again.
template <typename World, typename Meanwhile>
void return_to_the_leader_alone(World& world, Meanwhile meanwhile) {
  world.work(12);
  const ShardId shard = shard_of_name("a");
  const std::uint32_t leader = world.leader_of(shard);
  ASSERT_LT(leader, kTurnNodes);
  const std::uint32_t victim = (leader + 2) % kTurnNodes;
  world.paused = (leader + 1) % kTurnNodes;
  world.lose(victim);
  world.find(victim);
  const std::uint64_t tag = world.push(leader, shard, acquire("a", 7, 1));
  world.turns(12000);
  EXPECT_NE(world.nodes[leader].answers[tag].reply.verdict, TurnVerdict::Committed);
  meanwhile(leader, victim);
  world.paused = kTurnNodes;
  world.heal();
  world.work(12);
}

// Its rows' logs were compacted, so they come by a snapshot.
template <typename World>
void return_by_snapshot(World& world, std::uint32_t victim) {
  for (std::uint32_t k = 0; k < 150; ++k) {
    world.work(1);
  }
  world.lose(victim);
  world.find(victim);
  world.heal();
}

}  // namespace gcoord::server
