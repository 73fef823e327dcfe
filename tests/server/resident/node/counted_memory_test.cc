#include "server/resident/node/counted_memory.h"

#include "server/resident/node/node.h"
#include "tests/server/resident/engine/resident_hosts.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

ResidentNodeOptions small_node() {
  ResidentNodeOptions options;
  options.shape = {.shard_count = 8, .stripe_count = 2, .log_slots = 128, .wide_count = 8};
  options.ring_slots = 256;
  return options;
}

Result<std::unique_ptr<ResidentNode>> make_node(DeviceCalls& calls) {
  return ResidentNode::make(small_node(),
                            std::make_unique<CountedMemory>(netcore::make_host_memory(), calls));
}

// Calls of all hosts to their devices in so many rounds, each of as many turns; with work each
// shard has a command in each round.
std::uint64_t calls_in_rounds(Hosts& hosts, std::uint32_t rounds, bool work) {
  const auto made = [&hosts] {
    return hosts.world.calls[0].made() + hosts.world.calls[1].made() + hosts.world.calls[2].made();
  };
  const std::uint64_t before = made();
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    for (std::uint32_t shard = 0; work && shard < kShards; ++shard) {
      const std::string name = name_in(ShardId{shard}, "c" + std::to_string(round));
      hosts.each[hosts.leader_of(ShardId{shard})].requests->command(
          ShardId{shard}, acquire(name, 10 + shard, round), ++hosts.cookie);
    }
    hosts.turns(300);
  }
  return made() - before;
}

// Commands, answers, and what each host copies of the others' commands cross in memory that both
// sides map. Calls go by time: a host says that it lives.
TEST(CountedMemory, CommandsCostTheHostsOfTheirNodesNoCall) {
  constexpr std::uint32_t kRounds = 20;
  Hosts hosts;
  const std::uint64_t idle = calls_in_rounds(hosts, kRounds, false);
  EXPECT_GT(idle, 0u) << "they do not say that they live";
  EXPECT_EQ(calls_in_rounds(hosts, kRounds, true), idle);
  std::uint64_t answered = 0;
  for (const Hosts::Host& host : hosts.each) {
    EXPECT_TRUE(host.service.failed.empty());
    EXPECT_EQ(host.service.granted, kRounds * kShards) << "also of the commands of others";
    answered += host.service.applied.size();
  }
  EXPECT_EQ(answered, kRounds * kShards);
}

TEST(CountedMemory, EveryCallOfANodesStartCanFail) {
  DeviceCalls counted;
  ASSERT_TRUE(make_node(counted).ok());
  ASSERT_GT(counted.made(), 4u);
  for (std::uint64_t number = 1; number <= counted.made(); ++number) {
    DeviceCalls calls({DeviceFaultPlan::Kind::Call, number});
    const auto made = make_node(calls);
    ASSERT_FALSE(made.ok()) << number;
    EXPECT_EQ(made.status().detail(), kDeviceFailed) << number;
    EXPECT_EQ(calls.made(), number);
  }
}

TEST(CountedMemory, AWordThatIsNotStoredIsTheLastCall) {
  DeviceCalls calls;
  const auto node = make_node(calls);
  ASSERT_TRUE(node.ok());
  EXPECT_TRUE(node.value()->tell_alive().ok());
  calls.inject({DeviceFaultPlan::Kind::Call, 1});
  EXPECT_EQ(node.value()->tell_alive().detail(), kDeviceFailed);
  const std::uint64_t made = calls.made();
  EXPECT_EQ(node.value()->abort().detail(), kDeviceFailed);
  EXPECT_EQ(node.value()->abort_word().status().detail(), kDeviceFailed);
  EXPECT_EQ(calls.made(), made);
}

TEST(CountedMemory, WhatAPeerSentEndsNoNode) {
  DeviceCalls calls;
  CountedMemory memory(netcore::make_host_memory(), calls);
  EXPECT_FALSE(memory.import(-1, 4096).ok());
  EXPECT_TRUE(calls.failure().ok());
  calls.inject({DeviceFaultPlan::Kind::Call, 1});
  EXPECT_EQ(memory.import(-1, 4096).status().detail(), kDeviceFailed);
}

}  // namespace
}  // namespace gcoord::server
