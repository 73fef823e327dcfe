// Who leads, as hosts learn it from the table and the ring together.
#include "tests/server/resident/engine/resident_hosts.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

// The table of leaders is ahead of the ring: a shard is known to be led here before the copy has
// what the leaders before decided, and then nothing may be answered from the copy alone.
TEST(ResidentLead, ALeaderHasNoLeaseBeforeItsFirstEntryIsInTheCopy) {
  Hosts hosts;
  hosts.lock_and_unlock(1);
  const ShardId shard = hosts.shard();
  const std::uint32_t before = hosts.leader_of(shard);
  const std::uint32_t after = (before + 1) % kTurnNodes;
  EXPECT_TRUE(hosts.each[before].rows->view(shard).lease);
  hosts.each[before].requests->transfer(shard, NodeId{after + 1});
  hosts.each[before].requests->push();
  Hosts::Host& host = hosts.each[after];
  const LogIndex had = host.rows->view(shard).applied;
  // Its ring is not read, however long its device has led.
  hosts.world.turns(300);
  host.rows->look();
  EXPECT_TRUE(host.rows->follow());
  EXPECT_EQ(host.rows->view(shard).role, consensus::Role::Leader);
  EXPECT_TRUE(host.service.leads[shard.value]);
  EXPECT_FALSE(host.rows->view(shard).lease);
  hosts.hear(after);
  EXPECT_GT(host.rows->view(shard).applied, had);
  EXPECT_TRUE(host.rows->view(shard).lease);
  hosts.turns(300);
  EXPECT_FALSE(hosts.each[before].service.leads[shard.value]);
  EXPECT_FALSE(hosts.each[before].rows->view(shard).lease);
}

// A directory that may be an old copy (server/peers/vote_gate.h): with one of three nodes down, the
// other has no majority without it.
TEST(ResidentLead, ANodeWhoseVotesAreHeldNeitherVotesNorCampaignsUntilTheyAreLetGo) {
  ResidentWorld world{31};
  world.turns(4000);
  const auto led = [&world] {
    std::uint32_t count = 0;
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      count += world.leader_of(ShardId{shard}) == kTurnNodes ? 0 : 1;
    }
    return count;
  };
  ASSERT_EQ(led(), kShards);
  const auto hold = [&world](bool held) {
    ResidentWorld::Node& node = world.nodes[2];
    EXPECT_TRUE(node.turn->stop(0).ok());
    EXPECT_TRUE(node.memory->hold_votes(held).ok());
    EXPECT_EQ(node.memory->votes_held(), held);
    EXPECT_TRUE(node.memory->go_on().ok());
    EXPECT_TRUE(node.turn->start().ok());
  };
  hold(true);
  world.paused = 0;
  world.turns(2000);
  const std::uint32_t before = led();
  EXPECT_LT(before, kShards) << "node 1 led nothing";
  world.turns(20'000);
  EXPECT_EQ(led(), before);
  hold(false);
  world.turns(20'000);
  EXPECT_EQ(led(), kShards);
}

// What was told before a node ceased to lead is answered, although the table says already that it
// leads no more; what was not decided ends once, as unknown.
TEST(ResidentLead, WhatWasDecidedBeforeLeadershipEndedIsAnswered) {
  Hosts hosts;
  hosts.lock_and_unlock(1);
  const ShardId shard = hosts.shard();
  const std::uint32_t leader = hosts.leader_of(shard);
  Hosts::Host& host = hosts.each[leader];
  host.requests->command(shard, locks::make_register_session(SessionId{1}, 1000), 901);
  host.requests->push();
  EXPECT_TRUE(host.requests->awaits(host.requests->lane_of(shard)));
  hosts.world.turns(300);
  host.requests->transfer(shard, NodeId{(leader + 1) % kTurnNodes + 1});
  host.requests->push();
  hosts.world.turns(300);
  host.requests->read(
      shard, 902, consensus::ReadProof::LeaseOrRound);  // Too late, and nobody here knows yet.
  host.rows->look();
  EXPECT_TRUE(host.rows->is_ending(host.requests->lane_of(shard)));
  hosts.hear(leader);
  host.rows->follow();
  host.rows->look();
  EXPECT_FALSE(host.rows->is_ending(host.requests->lane_of(shard)));
  EXPECT_EQ(host.service.applied.count(901), 1u);
  EXPECT_EQ(host.service.failed.count(901), 0u);
  EXPECT_EQ(host.service.reads.at(902), StatusCode::Unavailable);
  EXPECT_EQ(host.requests->under_way(), 0u);
  EXPECT_FALSE(host.requests->awaits(host.requests->lane_of(shard)));
}

// Leadership that was lost and won between two looks ends what was under way, and the service hears
// of both.
TEST(ResidentLead, LeadershipThatWasLostAndWonBetweenTwoLooksEnds) {
  Hosts hosts;
  const ShardId shard = hosts.shard();
  const std::uint32_t leader = hosts.leader_of(shard);
  Hosts::Host& host = hosts.each[leader];
  const Term before = host.rows->view(shard).term;
  for (const std::uint32_t to : {(leader + 1) % kTurnNodes, leader}) {
    TurnRequest request;
    request.shard = shard;
    request.tag = kTransferTag;
    request.word[0] = to + 1;
    const std::uint32_t from = to == leader ? (leader + 1) % kTurnNodes : leader;
    ASSERT_TRUE(hosts.world.nodes[from].memory->push(
        stripe_of(hosts.world.nodes[from].memory->options().shape, shard), &request, 1));
    hosts.world.turns(600);
  }
  host.requests->read(shard, 903, consensus::ReadProof::LeaseOrRound);
  EXPECT_EQ(host.rows->view(shard).term, before);
  hosts.listen(leader);
  EXPECT_GT(host.rows->view(shard).term, before);
  EXPECT_EQ(host.rows->view(shard).role, consensus::Role::Leader);
  EXPECT_TRUE(host.service.leads[shard.value]);
  EXPECT_EQ(host.service.reads.at(903), StatusCode::Unavailable);
  EXPECT_TRUE(host.rows->view(shard).lease);
}

}  // namespace
}  // namespace gcoord::server
