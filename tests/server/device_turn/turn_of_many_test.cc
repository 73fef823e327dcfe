// The turn of nodes with five and seven voters, by its host twin: the scenarios of three, and what
// more voters can spare.
#include "server/device_turn/turn.h"
#include "tests/server/device_turn/turn_world.h"
#include "tests/server/turn_scenarios.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::server {
namespace {

struct HostsOfFive {
  using Node = HostNode;
  static constexpr std::uint32_t kVoters = 5;
  static constexpr FedNodes kFed{.shard_count = 61,
                                 .block_stripes = 1,
                                 .turns_to_elect = 5000,
                                 .turns_fed = 5000,
                                 .turns_to_agree = 5000,
                                 .commands_min = 100};
};

struct HostsOfSeven {
  using Node = HostNode;
  static constexpr std::uint32_t kVoters = 7;
  static constexpr FedNodes kFed{.shard_count = 61,
                                 .block_stripes = 1,
                                 .turns_to_elect = 7000,
                                 .turns_fed = 7000,
                                 .turns_to_agree = 7000,
                                 .commands_min = 100};
};

INSTANTIATE_TYPED_TEST_SUITE_P(DeviceTurnOfFive, TurnOfNodes, HostsOfFive);
INSTANTIATE_TYPED_TEST_SUITE_P(DeviceTurnOfSeven, TurnOfNodes, HostsOfSeven);

class TurnOfMany : public testing::TestWithParam<std::uint32_t> {
 protected:
  // So many nodes may be gone while the others decide.
  static std::uint32_t spare() { return (GetParam() - 1) / 2; }

  static void feed(World& world, const std::vector<std::uint32_t>& nodes, std::uint32_t batch) {
    for (const std::uint32_t n : nodes) {
      ASSERT_TRUE(world.cluster->feed(n, batch).ok());
    }
  }

  static std::vector<std::uint32_t> all_but_first(const World& world, std::uint32_t count) {
    const std::vector<std::uint32_t> all = world.everyone();
    return {all.begin() + count, all.end()};
  }

  // Turns so that each node has as many as it has in a world of three.
  static void turns(World& world, std::uint32_t each) { world.turns(each * GetParam()); }
};

TEST_P(TurnOfMany, EveryShardIsLedByOneNodeAndLeadersAreSpread) {
  World world(small_cluster(1, GetParam()));
  turns(world, 1000);
  EXPECT_EQ(world.led(), 61u);
  for (const std::uint32_t n : world.everyone()) {
    EXPECT_GE(world.counts(n).sum.led, 61u / GetParam() / 2) << n;
  }
  expect_nothing_lost(world);
}

TEST_P(TurnOfMany, AnIdleClusterStepsNoRow) {
  World world(small_cluster(2, GetParam()));
  turns(world, 2000);
  const auto steps = [&world] {
    std::uint64_t sum = 0;
    for (const std::uint32_t n : world.everyone()) {
      sum += world.counts(n).sum.steps;
    }
    return sum;
  };
  const std::uint64_t before = steps();
  turns(world, 1000);
  EXPECT_EQ(steps(), before);
}

// Two of five are gone: the three elect who leads, and decide. One more, and nothing is decided.
// All come back, and have everything.
TEST_P(TurnOfMany, AMinorityIsSparedAMajorityIsNotAndAllComeBack) {
  World world(small_cluster(5, GetParam()));
  turns(world, 1000);
  feed(world, world.everyone(), 2);
  turns(world, 500);
  for (std::uint32_t n = 0; n < spare(); ++n) {
    world.lose(n);
  }
  const std::vector<std::uint32_t> left = all_but_first(world, spare());
  turns(world, 2000);
  EXPECT_EQ(world.led(), 61u) << "of those that are left";
  const std::uint64_t before = agreed_commands(world, left);
  turns(world, 500);
  EXPECT_GT(agreed_commands(world, left), before + 61);

  world.lose(spare());
  const std::vector<std::uint32_t> few = all_but_first(world, spare() + 1);
  turns(world, 2000);
  EXPECT_EQ(world.led(), 0u) << "nobody leads without a majority";
  const std::uint64_t silent = agreed_commands(world, few);
  turns(world, 500);
  EXPECT_EQ(agreed_commands(world, few), silent);

  for (std::uint32_t n = 0; n <= spare(); ++n) {
    world.host[n].emplace(*world.cluster, n);
  }
  turns(world, 3000);
  EXPECT_EQ(world.led(), 61u);
  feed(world, world.everyone(), 0);
  turns(world, 2000);
  EXPECT_GT(agreed_commands(world, world.everyone()), silent);
  expect_equal_everywhere(world, world.everyone());
}

// Where nodes are lost and come back one after the other, there is one leader for each shard again
// and again.
TEST_P(TurnOfMany, EachIsLostInTurnAndComesBack) {
  World world(small_cluster(6, GetParam()));
  turns(world, 1000);
  feed(world, world.everyone(), 2);
  for (const std::uint32_t n : world.everyone()) {
    world.lose(n);
    turns(world, 1500);
    EXPECT_EQ(world.led(), 61u) << "without node " << n;
    world.host[n].emplace(*world.cluster, n);
    turns(world, 1500);
  }
  feed(world, world.everyone(), 0);
  turns(world, 2000);
  EXPECT_EQ(world.led(), 61u);
  expect_equal_everywhere(world, world.everyone());
}

// Turns that take many ticks: rows campaign again and again before they are answered.
TEST_P(TurnOfMany, TicksThatPassFasterThanTurnsBreakNothing) {
  for (const std::uint64_t tenths : {30u, 300u}) {
    World world(small_cluster(12 + tenths, GetParam()));
    world.step_tenths = tenths;
    turns(world, 500);
    feed(world, world.everyone(), 4);
    turns(world, 1000);
    world.step_tenths = 1;
    feed(world, world.everyone(), 0);
    turns(world, 6000);
    expect_equal_everywhere(world, world.everyone());
  }
}

// The one row of a stripe is kept unpacked between turns where it has code of its own; the table
// has all of its members again once its group leaves.
TEST_P(TurnOfMany, ARowThatWasAloneInItsTurnsIsPutBackIntoTheTable) {
  World world(one_row(11, GetParam()));
  turns(world, 1000);
  feed(world, world.everyone(), 1);
  turns(world, 700);
  feed(world, world.everyone(), 0);
  turns(world, 1000);
  expect_equal_everywhere(world, world.everyone());
  expect_nothing_lost(world);
  world.stop();
  std::uint32_t leaders = 0;
  for (const std::uint32_t n : world.everyone()) {
    const auto& node = world.cluster->node(n);
    consensus::RowCopy row{};
    const consensus::ShardRef shard = consensus::ref_of(row, ShardId{0}, GetParam());
    if (GetParam() == 5) {
      consensus::load_row<2>(node.table, 0, shard);
    } else {
      consensus::load_row<4>(node.table, 0, shard);
    }
    EXPECT_EQ(row.log.last.value, node.service.rows[0].count + 1) << "node " << n;
    EXPECT_EQ(row.log.commit, row.log.last);
    EXPECT_EQ(node.applied[0], row.log.last);
    EXPECT_EQ(row.configuration.voters, (1u << GetParam()) - 1);
    const bool leads = row.hot.role == consensus::Role::Leader;
    leaders += leads ? 1 : 0;
    for (std::uint32_t slot = 0; leads && slot < GetParam(); ++slot) {
      EXPECT_EQ(row.progress[slot].match, row.log.last) << "slot " << slot;
    }
  }
  EXPECT_EQ(leaders, 1u);
}

INSTANTIATE_TEST_SUITE_P(OfVoters, TurnOfMany, testing::Values(5u, 7u));

}  // namespace
}  // namespace gcoord::server
