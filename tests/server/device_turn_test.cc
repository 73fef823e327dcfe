// The turn of a node on a device, by its host twin: three nodes in one process, turned one after
// the other in any order.
#include "server/device_turn.h"

#include "chaos/turn/turn_cluster.h"
#include "common/random.h"
#include "server/device_turn_loop.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace gcoord::server {
namespace {

using chaos::HostNode;
using chaos::NodeCounts;
using chaos::TurnCluster;
using chaos::TurnClusterOptions;

constexpr std::uint64_t kTickNs = 1000;  // Of a clock that the test moves.

TurnClusterOptions small_cluster(std::uint64_t seed) {
  TurnClusterOptions options;
  options.shape = {
      .shard_count = 61, .stripe_count = 3, .log_slots = 64, .entries_max = 16, .wide_count = 64};
  options.timing.tick_ns = kTickNs;
  options.timing.limits = {.window_entries = 16, .uncommitted_entries = 16, .message_entries = 16};
  options.seed = seed;
  return options;
}

// Three host nodes and a clock that moves by a tenth of a tick with every turn of a node.
struct World {
  explicit World(const TurnClusterOptions& options) {
    auto made = chaos::make_host_turn_cluster(options);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    cluster = std::move(made).value();
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      host[n].emplace(*cluster, n);
    }
  }

  ~World() { stop(); }

  // Turns living nodes, a node at a time, in an order that follows from the seed.
  void turns(std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      now_ns += kTickNs * step_tenths / 10;
      const std::uint64_t word = random64(cluster->options().seed, 7, ++turned);
      const std::uint32_t n = uneven ? pick(word) : static_cast<std::uint32_t>(turned % kTurnNodes);
      if (host[n].has_value()) {
        host[n]->turn(now_ns);
      }
    }
  }

  // Node 2 is turned seldom, so that its rings fill and its peers run out of credit.
  static std::uint32_t pick(std::uint64_t word) {
    const std::uint32_t one = random_below(word, 64);
    return one == 0 ? 2 : one % 2;
  }

  void lose(std::uint32_t n) { host[n].reset(); }

  void stop() {
    for (auto& one : host) {
      one.reset();
    }
  }

  // Lets every word of every node rest in memory, and looks.
  NodeCounts counts(std::uint32_t n) {
    const bool alive = host[n].has_value();
    host[n].reset();
    auto counts = cluster->counts(n);
    EXPECT_TRUE(counts.ok());
    if (alive) {
      host[n].emplace(*cluster, n);
    }
    return counts.value();
  }

  std::uint64_t led() {
    std::uint64_t sum = 0;
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      sum += host[n].has_value() ? counts(n).sum.led : 0;
    }
    return sum;
  }

  std::unique_ptr<TurnCluster> cluster;
  std::optional<HostNode> host[kTurnNodes];
  std::uint64_t now_ns = 1'000'000;
  std::uint64_t turned = 0;
  bool uneven = false;
  std::uint64_t step_tenths = 1;  // Of a tick, that pass with every turn of a node.
};

// Replicas that applied as much have the same digest; the commands of the replica that applied
// most.
std::uint64_t agreed_commands(World& world, const std::vector<std::uint32_t>& nodes) {
  std::uint64_t sum = 0;
  for (std::uint32_t row = 0; row < world.cluster->options().shape.shard_count; ++row) {
    std::map<std::uint64_t, std::uint64_t> digests;  // By commands applied.
    for (const std::uint32_t n : nodes) {
      const auto& one = world.cluster->node(n).service.rows[row];
      const auto [at, fresh] = digests.try_emplace(one.count, one.digest);
      EXPECT_EQ(at->second, one.digest) << "shard " << row << " node " << n;
    }
    sum += digests.rbegin()->first;
  }
  return sum;
}

void expect_equal_everywhere(World& world, const std::vector<std::uint32_t>& nodes) {
  for (std::uint32_t row = 0; row < world.cluster->options().shape.shard_count; ++row) {
    for (const std::uint32_t n : nodes) {
      const auto& first = world.cluster->node(nodes[0]).service.rows[row];
      const auto& one = world.cluster->node(n).service.rows[row];
      EXPECT_EQ(one.count, first.count) << "shard " << row << " node " << n;
      EXPECT_EQ(one.digest, first.digest) << "shard " << row << " node " << n;
    }
  }
}

// `dropped`: messages that may be, because a node that is slow finds more of them than an inbox
// holds.
void expect_nothing_lost(World& world, std::uint64_t dropped = 0) {
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    const NodeCounts counts = world.counts(n);
    EXPECT_EQ(counts.sum.unsent, 0u);
    EXPECT_LE(counts.sum.dropped, dropped) << "node " << n;
    EXPECT_EQ(*world.cluster->node(n).table.exhausted, 0u);
  }
}

TEST(DeviceTurn, EveryShardIsLedByOneNodeAndLeadersAreSpread) {
  World world(small_cluster(1));
  world.turns(3000);
  EXPECT_EQ(world.led(), 61u);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    EXPECT_GE(world.counts(n).sum.led, 15u);
  }
  expect_nothing_lost(world);
}

TEST(DeviceTurn, AnIdleClusterStepsNoRow) {
  World world(small_cluster(2));
  world.turns(6000);
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    before += world.counts(n).sum.steps;
  }
  world.turns(3000);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    after += world.counts(n).sum.steps;
  }
  EXPECT_EQ(after, before);
}

TEST(DeviceTurn, FedCommandsAreAppliedEverywhereInOneOrder) {
  World world(small_cluster(3));
  world.turns(3000);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(world.cluster->feed(n, 4).ok());
  }
  world.turns(3000);
  EXPECT_GT(agreed_commands(world, {0, 1, 2}), 61u * 100);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(world.cluster->feed(n, 0).ok());
  }
  world.turns(3000);
  expect_equal_everywhere(world, {0, 1, 2});
  expect_nothing_lost(world);
}

// The one row of a stripe is kept unpacked between turns; the table has it again once its group
// leaves, whatever it was in between.
TEST(DeviceTurn, ARowThatWasAloneInItsTurnsIsPutBackIntoTheTable) {
  TurnClusterOptions options = small_cluster(11);
  options.shape.shard_count = 1;
  options.shape.stripe_count = 1;
  World world(options);
  world.turns(3000);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(world.cluster->feed(n, 1).ok());
  }
  world.turns(2000);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(world.cluster->feed(n, 0).ok());
  }
  world.turns(3000);
  expect_equal_everywhere(world, {0, 1, 2});
  expect_nothing_lost(world);
  world.stop();
  std::uint32_t leaders = 0;
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    const auto& node = world.cluster->node(n);
    consensus::RowCopy row{};
    consensus::load_row(node.table, 0, consensus::ref_of(row, ShardId{0}, kTurnNodes));
    EXPECT_EQ(row.log.last.value, node.service.rows[0].count + 1) << "node " << n;
    EXPECT_EQ(row.log.commit, row.log.last);
    EXPECT_EQ(node.applied[0], row.log.last);
    EXPECT_GT(row.log.floor.value, 0u);
    leaders += row.hot.role == consensus::Role::Leader ? 1 : 0;
  }
  EXPECT_EQ(leaders, 1u);
}

// Turns that take many ticks: rows campaign again and again before they are answered.
TEST(DeviceTurn, TicksThatPassFasterThanTurnsBreakNothing) {
  for (const std::uint64_t tenths : {30u, 100u, 300u, 1000u}) {
    World world(small_cluster(12 + tenths));
    world.step_tenths = tenths;
    world.turns(1500);
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      ASSERT_TRUE(world.cluster->feed(n, 4).ok());
    }
    world.turns(3000);
    world.step_tenths = 1;
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      ASSERT_TRUE(world.cluster->feed(n, 0).ok());
    }
    world.turns(20'000);
    expect_equal_everywhere(world, {0, 1, 2});
  }
}

// One row, kept unpacked on its three nodes, whose leader sends entries again together with new
// ones: what a steady step cannot take is left to a whole one. Commands that all have applied.
std::uint64_t send_again(std::uint64_t tenths, bool uneven) {
  TurnClusterOptions options = small_cluster(static_cast<std::uint32_t>(12 + tenths));
  options.shape.shard_count = 1;
  options.shape.stripe_count = 1;
  World world(options);
  world.turns(3000);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    EXPECT_TRUE(world.cluster->feed(n, 2).ok());
  }
  world.uneven = uneven;
  world.step_tenths = tenths;
  world.turns(6000);
  world.uneven = false;
  world.step_tenths = 1;
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    EXPECT_TRUE(world.cluster->feed(n, 0).ok());
  }
  world.turns(20'000);
  expect_equal_everywhere(world, {0, 1, 2});
  return agreed_commands(world, {0, 1, 2});
}

TEST(DeviceTurn, ARowAloneThatIsSentEntriesAgain) {
  std::uint64_t commands = 0;
  for (const std::uint64_t tenths : {1u, 5u, 30u, 100u, 300u, 1000u}) {
    commands += send_again(tenths, false) + send_again(tenths, true);
  }
  EXPECT_GT(commands, 1000u);
}

// A slow node's rings fill: its peers have no credit, emit nothing, and emit it later.
TEST(DeviceTurn, WhatFindsNoCreditIsSaidLater) {
  TurnClusterOptions options = small_cluster(4);
  options.ring_slots = 32;
  World world(options);
  world.turns(6000);
  world.uneven = true;
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(world.cluster->feed(n, 4).ok());
  }
  world.turns(20'000);
  EXPECT_GT(world.counts(0).sum.stalled, 100u);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(world.cluster->feed(n, 0).ok());
  }
  world.uneven = false;
  world.turns(20'000);
  EXPECT_GT(agreed_commands(world, {0, 1, 2}), 61u * 100);
  expect_equal_everywhere(world, {0, 1, 2});
  expect_nothing_lost(world, ~std::uint64_t{0});
}

TEST(DeviceTurn, SurvivorsLeadEverythingAfterANodeIsLost) {
  World world(small_cluster(5));
  world.turns(3000);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(world.cluster->feed(n, 1).ok());
  }
  world.turns(2000);
  const std::uint64_t before = agreed_commands(world, {0, 1, 2});
  world.lose(1);
  world.turns(6000);
  EXPECT_EQ(world.led(), 61u);
  EXPECT_NE(world.counts(0).lost_ns[0], 0u);
  EXPECT_EQ(world.counts(0).lost_ns[1], 0u);
  for (const std::uint32_t n : {0u, 2u}) {
    ASSERT_TRUE(world.cluster->feed(n, 0).ok());
  }
  world.turns(3000);
  EXPECT_GT(agreed_commands(world, {0, 1, 2}), before + 61u * 20);
  expect_equal_everywhere(world, {0, 2});
}

// A node that was away longer than the log reaches back is brought up by snapshots.
TEST(DeviceTurn, ANodeThatWasStoppedCatchesUpBySnapshot) {
  World world(small_cluster(6));
  world.turns(3000);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(world.cluster->feed(n, 8).ok());
  }
  world.lose(2);
  world.turns(8000);
  EXPECT_GT(agreed_commands(world, {0, 1}), 61u * 200);
  world.host[2].emplace(*world.cluster, 2);
  world.turns(4000);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(world.cluster->feed(n, 0).ok());
  }
  world.turns(8000);
  EXPECT_EQ(world.led(), 61u);
  expect_equal_everywhere(world, {0, 1, 2});
}

// A row that saw its third term before its log was compacted is kept as columns. One that finds no
// room for them is behind what it said: its stripe says nothing more.
TEST(DeviceTurn, AStripeThatCannotKeepARowIsSilentFromThenOn) {
  TurnClusterOptions options = small_cluster(12);
  options.shape.stripe_count = 1;
  options.shape.wide_count = 1;
  World world(options);
  world.turns(3000);
  const auto exhausted = [&world](std::uint32_t n) {
    return *world.cluster->node(n).table.exhausted != 0;
  };
  std::uint32_t full = kTurnNodes;
  for (std::uint32_t k = 0; k < 8 * kTurnNodes && full == kTurnNodes; ++k) {
    const std::uint32_t away = k % kTurnNodes;
    world.lose(away);
    world.turns(4000);
    world.host[away].emplace(*world.cluster, away);
    world.turns(1000);
    full = exhausted(0) ? 0 : exhausted(1) ? 1 : exhausted(2) ? 2 : kTurnNodes;
  }
  ASSERT_LT(full, kTurnNodes) << "every row found room";
  EXPECT_NE(world.cluster->node(full).control->abort, 0u);
  const std::uint64_t steps = world.counts(full).sum.steps;
  const std::uint32_t rows = *world.cluster->node(full).table.exhausted;
  world.turns(6000);
  EXPECT_EQ(world.counts(full).sum.steps, steps);
  EXPECT_EQ(*world.cluster->node(full).table.exhausted, rows);
}

// --- Clients

struct Client {
  explicit Client(const netcore::GpuChannelDevice& end, std::uint32_t stripe)
      : to(netcore::open_sender(end, netcore::Band::Rpc, stripe)),
        from(netcore::open_receiver(end, netcore::Band::Rpc, stripe)) {}

  bool ask(const TurnRequest& request) {
    const netcore::Reservation place = to.reserve(1);
    if (place.slot_count == 0) {
      return false;
    }
    std::uint32_t words[netcore::kSlotWords];
    std::memcpy(words, &request, sizeof words);
    to.publish(place, [&words](std::uint32_t, std::uint32_t word) { return words[word]; });
    return true;
  }

  std::optional<TurnReply> answer() {
    const netcore::SlotTile tile = from.poll(1);
    if (tile.slot_count == 0) {
      return std::nullopt;
    }
    std::uint32_t words[netcore::kSlotWords];
    tile.for_each_word(
        [&words](std::uint32_t, std::uint32_t word, std::uint32_t value) { words[word] = value; });
    from.release(tile);
    TurnReply reply;
    std::memcpy(static_cast<void*>(&reply), words, sizeof reply);
    return reply;
  }

  netcore::LaneSender to;
  netcore::LaneReceiver from;
};

TEST(DeviceTurn, ARequestIsAnsweredOnceItIsCommittedAndByTheLeaderOnly) {
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
      const auto desk = std::make_unique<StripeDesk>();
      turn_stripe(node, stripe, *desk);
    }
  }
}

TEST(DeviceTurn, AStripeThatIsOpenedForOneTurnFindsWhatClientsAsk) {
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

TEST(DeviceTurn, RequestsThatCannotBeAreRefused) {
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

// --- Hostile peers

// Node 1's end of its channel to node 0, worked by somebody else.
void publish_as_node_1(World& world, const consensus::Message& message, std::uint32_t count) {
  const auto& channel = world.cluster->node(1).channel[0];
  netcore::LaneSender to = netcore::open_sender(channel, netcore::Band::Consensus, 0);
  std::uint32_t words[netcore::kSlotWords];
  std::memcpy(words, &message, sizeof words);
  for (std::uint32_t k = 0; k < count; ++k) {
    const netcore::Reservation place = to.reserve(1);
    ASSERT_EQ(place.slot_count, 1u);
    to.publish(place, [&words](std::uint32_t, std::uint32_t word) { return words[word]; });
  }
  netcore::close_sender(channel, netcore::Band::Consensus, 0, to);
}

consensus::Message forged(consensus::MessageKind kind) {
  consensus::Message m;
  m.kind = kind;
  m.from = NodeId{2};
  m.to = NodeId{1};
  m.term = Term{3};
  return m;
}

TEST(DeviceTurn, MessagesOfTheWrongSenderOrRowAreDroppedAndCounted) {
  World world(small_cluster(10));
  world.turns(3000);
  world.lose(1);
  consensus::Message m = forged(consensus::MessageKind::Vote);
  m.from = NodeId{3};
  publish_as_node_1(world, m, 1);
  m = forged(consensus::MessageKind::Vote);
  m.shard = ShardId{50};  // Of another stripe.
  publish_as_node_1(world, m, 1);
  m.shard = ShardId{~0u};
  publish_as_node_1(world, m, 1);
  m = forged(static_cast<consensus::MessageKind>(77));
  publish_as_node_1(world, m, 1);
  m = forged(consensus::MessageKind::Append);  // Does not follow: for the step to refuse.
  m.index = LogIndex{1000};
  m.count = 0;
  publish_as_node_1(world, m, 1);
  const std::uint64_t before = world.counts(0).sum.dropped;
  world.turns(30);
  EXPECT_EQ(world.counts(0).sum.dropped, before + 4);
  world.turns(6000);
  EXPECT_EQ(world.led(), 61u);
}

TEST(DeviceTurn, AnAppendThatAnnouncesTooMuchResetsItsChannelAndNoOther) {
  World world(small_cluster(11));
  world.turns(3000);
  world.lose(1);
  consensus::Message m = forged(consensus::MessageKind::Append);
  m.count = 17;
  publish_as_node_1(world, m, 1);
  world.turns(6000);
  EXPECT_NE(world.cluster->node(0).channel[0].control->fault, 0u);
  EXPECT_EQ(world.cluster->node(0).channel[1].control->fault, 0u);
  EXPECT_EQ(world.led(), 61u);
}

}  // namespace
}  // namespace gcoord::server
