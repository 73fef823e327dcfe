// What clients ask of the turn of a node on a device, by its host twin.
#include "server/device_turn/loop.h"
#include "server/device_turn/requests.h"
#include "tests/server/device_turn/turn_client.h"
#include "tests/server/device_turn/turn_world.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gcoord::server {
namespace {

TEST(DeviceTurnClients, ARequestIsAnsweredOnceItIsCommittedAndByTheLeaderOnly) {
  World world(small_cluster(8));
  world.turns(3000);
  std::uint32_t committed = 0;
  std::uint32_t refused = 0;
  for (std::uint32_t shard = 0; shard < 61; ++shard) {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      Client client(world.cluster->client(n),
                    stripe_of(world.cluster->options().shape, ShardId{shard}));
      TurnRequest request;
      request.shard = ShardId{shard};
      request.tag = shard * 10 + n + 1;
      request.word[0] = mix64(request.tag);
      ASSERT_TRUE(client.ask(request));
      std::optional<TurnReply> reply;
      for (std::uint32_t k = 0; k < 100 && !reply.has_value(); ++k) {
        world.turns(3);
        reply = client.answer();
      }
      netcore::close_sender(world.cluster->client(n),
                            netcore::Band::Rpc,
                            stripe_of(world.cluster->options().shape, ShardId{shard}),
                            client.to);
      netcore::close_receiver(world.cluster->client(n),
                              netcore::Band::Rpc,
                              stripe_of(world.cluster->options().shape, ShardId{shard}),
                              client.from);
      ASSERT_TRUE(reply.has_value()) << "shard " << shard << " node " << n;
      EXPECT_EQ(reply->tag, request.tag);
      EXPECT_EQ(reply->shard, request.shard);
      committed += reply->verdict == TurnVerdict::Committed ? 1 : 0;
      refused += reply->verdict == TurnVerdict::NotLeader ? 1 : 0;
    }
  }
  EXPECT_EQ(committed, 61u);
  EXPECT_EQ(refused, 122u);
  world.turns(2000);
  EXPECT_EQ(agreed_commands(world, {0, 1, 2}), 61u);
  expect_equal_everywhere(world, {0, 1, 2});
}

// The graph driver: every turn of a stripe opens its ends, looks once and closes them.
void turn_each_once(World& world) {
  world.now_ns += kTickNs / 10;
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    const chaos::CountingNode& node = world.cluster->node(n);
    NodeClock(node, world.cluster->timing(n)).read(world.now_ns);
    for (std::uint32_t stripe = 0; stripe < node.shape.stripe_count; ++stripe) {
      const auto desk = std::make_unique<StripeWorkspace>();
      turn_stripe(node, stripe, *desk);
    }
  }
}

TEST(DeviceTurnClients, AStripeThatIsOpenedForOneTurnFindsWhatClientsAsk) {
  World world(small_cluster(8));
  world.turns(3000);
  world.stop();
  std::uint32_t committed = 0;
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    Client client(world.cluster->client(n), 0);
    TurnRequest request;
    request.shard = ShardId{0};
    request.tag = 1;
    ASSERT_TRUE(client.ask(request));
    std::optional<TurnReply> reply;
    for (std::uint32_t k = 0; k < 100 && !reply.has_value(); ++k) {
      turn_each_once(world);
      reply = client.answer();
    }
    ASSERT_TRUE(reply.has_value()) << "node " << n;
    committed += reply->verdict == TurnVerdict::Committed ? 1 : 0;
  }
  EXPECT_EQ(committed, 1u);
}

TEST(DeviceTurnClients, RequestsThatCannotBeAreRefused) {
  World world(small_cluster(9));
  world.turns(300);
  Client client(world.cluster->client(0), 0);
  TurnRequest request;
  request.shard = ShardId{60};  // Of the last stripe.
  request.tag = 5;
  ASSERT_TRUE(client.ask(request));
  request.shard = ShardId{1u << 31};
  ASSERT_TRUE(client.ask(request));
  request.shard = ShardId{0};
  request.tag = 0;
  ASSERT_TRUE(client.ask(request));
  for (std::uint32_t k = 0; k < 3; ++k) {
    auto reply = client.answer();
    for (std::uint32_t turn = 0; turn < 60 && !reply.has_value(); ++turn) {
      world.turns(1);
      reply = client.answer();
    }
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->verdict, TurnVerdict::Refused);
  }
}

// The node that leads a shard, of nodes at rest; kTurnNodes: none.
std::uint32_t leader_of(const World& world, std::uint32_t shard) {
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    const auto& packed = world.cluster->node(n).table.packed[shard];
    if (consensus::role_of(packed) == consensus::Role::Leader) {
      return n;
    }
  }
  return kTurnNodes;
}

// The short way takes one request: more of them, which a host's group does not see in one look, are
// left to the general one.
TEST(DeviceTurnClients, RequestsThatWaitTogetherAreTakenInOneTurn) {
  World world(small_cluster(12));
  world.turns(3000);
  world.stop();
  const std::uint32_t leader = leader_of(world, 0);
  ASSERT_LT(leader, kTurnNodes);
  const chaos::CountingNode& node = world.cluster->node(leader);
  const auto desk = std::make_unique<StripeWorkspace>();
  TurnStripe worker(node, 0, *desk);
  worker.turn();  // Takes over the clock's reading.
  Client client(world.cluster->client(leader), 0);
  for (const std::uint64_t together : {1u, 3u, 5u, 1u, 2u}) {
    const std::uint64_t before = worker.counts().requests;
    TurnRequest request;
    for (std::uint64_t k = 0; k < together; ++k) {
      request.tag = before + k + 1;
      ASSERT_TRUE(client.ask(request));
    }
    EXPECT_TRUE(worker.turn());
    EXPECT_EQ(worker.counts().requests, before + together);
  }
  worker.close();
}

// So many requests, most of them for shard 0, and what was to come of them.
struct Asked {
  std::uint64_t all = 0;
  std::uint64_t commands = 0;
};

void ask_some(Client& client, std::uint32_t round, std::uint32_t count, Asked& asked) {
  for (std::uint32_t k = 0; k < count; ++k) {
    TurnRequest request;
    const bool foreign = random64(13, 2 + k, round) % 16 == 0;
    request.shard = ShardId{foreign ? 60u : 0u};
    request.tag = ++asked.all;
    request.word[0] = mix64(asked.all);
    asked.commands += foreign ? 0 : 1;
    ASSERT_TRUE(client.ask(request));
  }
}

// Most of these requests are alone in their turns, some come together, some cannot be; and the ring
// goes round many times, so that some turns have to grant it places.
TEST(DeviceTurnClients, EveryOneOfManyRequestsIsAnsweredOnce) {
  World world(small_cluster(13));
  world.turns(3000);
  world.stop();
  const std::uint32_t leader = leader_of(world, 0);
  ASSERT_LT(leader, kTurnNodes);
  world.start();
  Client client(world.cluster->client(leader), 0);
  std::map<std::uint64_t, TurnVerdict> answered;
  Asked asked;
  for (std::uint32_t round = 0; round < 400; ++round) {
    const std::uint64_t word = random64(13, 1, round);
    const bool together = word % 8 == 0;
    ask_some(client, round, together ? 1 + static_cast<std::uint32_t>(word / 8 % 6) : 1, asked);
    for (std::uint32_t k = 0; k < 300 && answered.size() < asked.all; ++k) {
      world.turns(1 + static_cast<std::uint32_t>(word >> 32) % 3);
      while (const std::optional<TurnReply> reply = client.answer()) {
        EXPECT_TRUE(answered.emplace(reply->tag, reply->verdict).second) << "tag " << reply->tag;
      }
    }
    ASSERT_EQ(answered.size(), asked.all) << "round " << round;
  }
  const auto committed = std::count_if(answered.begin(), answered.end(), [](const auto& one) {
    return one.second == TurnVerdict::Committed;
  });
  EXPECT_EQ(static_cast<std::uint64_t>(committed), asked.commands);
  world.turns(2000);
  EXPECT_EQ(agreed_commands(world, {0, 1, 2}), asked.commands);
  expect_equal_everywhere(world, {0, 1, 2});
  expect_nothing_lost(world);
}

}  // namespace
}  // namespace gcoord::server
