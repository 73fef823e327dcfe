// Durable mode of the turn that stays on its device, by the host twin of three nodes: what a row
// asks its host to store, that nothing is promised before it is stored, and nodes that are killed
// and come back with what was. The host's log is a map that a kill does not touch; what it was told
// to store and has not acknowledged is lost with the process.
#include "tests/server/resident/engine/resident_durable_world.h"

#include <map>
#include <string>

namespace gcoord::server {
namespace {

using locks::LockCode;

constexpr std::uint32_t kShards = ResidentWorld::kShards;

TEST(ResidentDurable, NothingIsPromisedBeforeItIsStored) {
  DurableWorld world(21);
  world.stands = true;
  world.turns(4000);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(world.leader_of(ShardId{shard}), kTurnNodes) << "a vote that is not stored";
  }
  world.stands = false;
  world.turns(4000);
  const ShardId shard = shard_of_name("a");
  const std::uint32_t leader = world.leader_of(shard);
  ASSERT_LT(leader, kTurnNodes);
  world.stands = true;
  const std::uint64_t tag = world.push(leader, shard, acquire("a", 5, 1));
  world.turns(2000);
  EXPECT_FALSE(world.nodes[leader].answers.contains(tag)) << "decided, and stored nowhere";
  // The followers alone are a quorum: it is decided, but applied here once it is stored here.
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    if (n != leader) {
      world.sync(n);
    }
  }
  world.turns(600);
  EXPECT_FALSE(world.nodes[leader].answers.contains(tag));
  world.stands = false;
  world.turns(600);
  ASSERT_TRUE(world.nodes[leader].answers.contains(tag));
  EXPECT_EQ(world.nodes[leader].answers[tag].decision.code, LockCode::Granted);
  EXPECT_GT(world.stored, kShards);
}

TEST(ResidentDurable, AKilledNodeComesBackToTheOthersWithWhatItStored) {
  DurableWorld world(22);
  world.turns(6000);
  std::uint64_t sequence = 0;
  const auto work = [&](std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::string name = "n" + std::to_string(k % 12);
      const ShardId shard = shard_of_name(name);
      const Answer taken = world.ask(shard, acquire(name, 5, ++sequence));
      ASSERT_EQ(taken.reply.verdict, TurnVerdict::Committed);
      const Answer freed = world.ask(shard, release(name, 5, ++sequence, FencingToken{1}));
      ASSERT_EQ(freed.reply.verdict, TurnVerdict::Committed);
    }
  };
  work(24);
  for (std::uint32_t round = 0; round < 3; ++round) {
    const std::uint32_t victim = round % kTurnNodes;
    world.kill(victim);
    world.turns(9000);  // The others miss it and lead on.
    work(12);
    for (std::uint32_t peer = 0; peer < kTurnNodes; ++peer) {
      if (peer != victim) {
        world.rejoin(victim, peer);
      }
    }
    world.turns(9000);
    work(12);
    world.turns(900);
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      const auto& told = world.nodes[victim].told[shard];
      EXPECT_EQ(told, world.nodes[(victim + 1) % kTurnNodes].told[shard]) << "shard " << shard;
    }
  }
  world.expect_one_history();
}

TEST(ResidentDurable, AllNodesAreKilledAndNothingAcknowledgedIsLost) {
  DurableWorld world(23);
  world.turns(6000);
  std::map<std::string, LogIndex> acknowledged;
  for (std::uint32_t k = 0; k < 30; ++k) {
    const std::string name = "lock" + std::to_string(k);
    const Answer taken = world.ask(shard_of_name(name), acquire(name, 5, k + 1));
    ASSERT_EQ(taken.reply.verdict, TurnVerdict::Committed);
    acknowledged[name] = taken.reply.index;
  }
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    world.kill(n);
  }
  world.rejoin(0, 1);
  world.rejoin(0, 2);
  world.rejoin(1, 2);
  world.turns(12000);
  for (const auto& [name, index] : acknowledged) {
    const ShardId shard = shard_of_name(name);
    ASSERT_LT(world.leader_of(shard), kTurnNodes);
    bool found = false;
    for (const auto& kept : world.stable) {
      const auto at = kept.at(shard.value).entries.find(index.value);
      found = found || (at != kept.at(shard.value).entries.end() &&
                        at->second.second.kind() ==
                            static_cast<std::uint8_t>(locks::LockCommandKind::Acquire));
    }
    EXPECT_TRUE(found) << name;
    EXPECT_GT(world.ask(shard, {locks::barrier_entry()}).reply.index, index);
  }
  world.expect_one_history();
}

}  // namespace
}  // namespace gcoord::server
