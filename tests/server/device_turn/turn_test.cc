// The turn of a node on a device, by its host twin.
#include "server/device_turn/turn.h"

#include "tests/server/device_turn/turn_world.h"
#include "tests/server/turn_scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace gcoord::server {
namespace {

struct Hosts {
  using Node = HostNode;
  static constexpr std::uint32_t kVoters = 3;
  static constexpr FedNodes kFed{.shard_count = 61,
                                 .block_stripes = 1,
                                 .turns_to_elect = 3000,
                                 .turns_fed = 3000,
                                 .turns_to_agree = 3000,
                                 .commands_min = 100};
};

INSTANTIATE_TYPED_TEST_SUITE_P(DeviceTurn, TurnOfNodes, Hosts);

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

// A command for each row now and then, so that none is ever at rest and forgets its log.
void keep_busy(World& world, std::uint32_t rounds) {
  for (std::uint32_t k = 0; k < rounds; ++k) {
    for (const std::uint32_t batch : {1u, 0u}) {
      for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
        ASSERT_TRUE(world.cluster->feed(n, batch).ok());
      }
      world.turns(batch != 0 ? 90 : 400);  // A wake of all rows takes some turns.
    }
  }
}

// A row that saw its third term before its log was compacted is kept as columns. One that finds no
// room for them is behind what it said: its stripe says nothing more.
TEST(DeviceTurn, AStripeThatCannotKeepARowIsSilentFromThenOn) {
  TurnClusterOptions options = small_cluster(12);
  options.shape.stripe_count = 1;
  options.shape.wide_count = 1;
  options.shape.log_slots = 1024;  // Nothing is forgotten because half of a page is full.
  World world(options);
  world.turns(3000);
  // Few rows see three terms before they are at rest and forget their logs: no place is left for
  // any.
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    const consensus::PackedTable& table = world.cluster->node(n).table;
    std::fill_n(table.wide_taken, table.wide.row_count / consensus::kWordBits, ~0u);
  }
  const auto exhausted = [&world](std::uint32_t n) {
    return *world.cluster->node(n).table.exhausted != 0;
  };
  std::uint32_t full = kTurnNodes;
  for (std::uint32_t k = 0; k < 8 * kTurnNodes && full == kTurnNodes; ++k) {
    const std::uint32_t away = k % kTurnNodes;
    world.lose(away);
    keep_busy(world, 8);
    world.host[away].emplace(*world.cluster, away);
    keep_busy(world, 2);
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

// --- Hostile peers

// Node 1's end of its channel to node 0, worked by somebody else.
// Whether there was room for it.
bool say_as_node_1(World& world, const consensus::Message& message) {
  const auto& channel = world.cluster->node(1).channel[0];
  netcore::LaneSender to = netcore::open_sender(channel, netcore::Band::Consensus, 0);
  std::uint32_t words[netcore::kSlotWords];
  std::memcpy(words, &message, sizeof words);
  const netcore::Reservation place = to.reserve(1);
  if (place.slot_count != 0) {
    to.publish(place, [&words](std::uint32_t, std::uint32_t word) { return words[word]; });
  }
  netcore::close_sender(channel, netcore::Band::Consensus, 0, to);
  return place.slot_count != 0;
}

void publish_as_node_1(World& world, const consensus::Message& message, std::uint32_t count) {
  for (std::uint32_t k = 0; k < count; ++k) {
    ASSERT_TRUE(say_as_node_1(world, message));
  }
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

// The last places of an inbox are kept for who is taken in last.
TEST(DeviceTurn, APeerThatFloodsARowHoldsNobodyElseUp) {
  World world(one_row(12));
  world.turns(3000);
  world.lose(1);
  ASSERT_EQ(world.counts(0).sum.led, 1u);
  ASSERT_TRUE(world.cluster->feed(0, 1).ok());
  const std::uint64_t before = world.counts(0).sum.applied;
  for (std::uint32_t round = 0; round < 60; ++round) {
    // More than a turn takes, so that soon there are always as many as an inbox holds.
    publish_as_node_1(
        world, forged(consensus::MessageKind::AppendReply), consensus::kInboxMessages + 2);
    world.turns(3);
  }
  EXPECT_GT(world.counts(0).sum.applied, before + 15);
}

// One that has something to say of more rows than a turn has places for leaves the other its part.
TEST(DeviceTurn, APeerThatSpeaksOfEveryRowHoldsNobodyElseUp) {
  TurnClusterOptions options = small_cluster(12);
  options.shape.shard_count = 48;
  options.shape.stripe_count = 1;
  World world(options);
  world.turns(3000);
  world.lose(1);
  world.turns(3000);
  ASSERT_GT(world.counts(0).sum.led, 15u);
  ASSERT_TRUE(world.cluster->feed(0, 1).ok());
  world.turns(60);
  const std::uint64_t before = world.counts(0).sum.applied;
  consensus::Message m = forged(consensus::MessageKind::AppendReply);
  m.term = Term{};
  for (std::uint32_t round = 0; round < 100; ++round) {
    while (say_as_node_1(world, m)) {  // All that its lane holds, one row after the other.
      m.shard = ShardId{(m.shard.value + 1) % options.shape.shard_count};
    }
    world.turns(3);
  }
  EXPECT_GT(world.counts(0).sum.applied, before + 200);
}

// What lies in front of one peer's lane and is to be judged waits for no pause of the other peer,
// nor for the clock.
TEST(DeviceTurn, ALaneIsJudgedBesideOneThatIsBusyAllTheTime) {
  TurnClusterOptions options = small_cluster(12);
  options.shape.shard_count = 1;
  options.shape.stripe_count = 1;
  World world(options);
  world.turns(3000);
  world.lose(1);
  ASSERT_EQ(world.counts(0).sum.led, 1u);
  ASSERT_TRUE(world.cluster->feed(0, 1).ok());
  const std::uint64_t before = world.counts(0).sum.applied;
  world.turns(60);  // The clock says so.
  world.step_tenths = 0;
  world.turns(60);
  publish_as_node_1(world, forged(consensus::MessageKind::Vote), 1);
  const auto& from = world.cluster->node(1).channel[0];
  const auto& channel = world.cluster->node(0).channel[0];
  const std::uint32_t lane = netcore::lane_number(channel.layout, netcore::Band::Consensus, 0);
  const netcore::LaneWires wires = netcore::wires_of(channel, netcore::Band::Consensus, 0);
  const std::uint64_t cursor = from.states[lane].sender.credit.sent - 1;
  wires.own_slots[netcore::slot_place(cursor, wires.slot_shift)]
      .packet[netcore::kHeaderPart]
      .word[netcore::kEpochWord] = channel.epoch + netcore::kEpochTagCount;
  EXPECT_EQ(channel.received[lane].stale_epoch, 0u);
  world.turns(600);
  EXPECT_EQ(channel.received[lane].stale_epoch, 1u);
  EXPECT_GT(world.counts(0).sum.applied, before + 60);
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
