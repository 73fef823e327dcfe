// The turn of a node by groups of 32 members, as on a device: looks that find many slots, ballots
// and exchanges in which members differ, and the ways that only those take.
#include "chaos/device_turn/counting_service.h"
#include "server/device_turn/turn.h"
#include "tests/server/device_turn/deadline_model.h"
#include "tests/server/device_turn/turn_client.h"
#include "tests/server/turn_scenarios.h"
#include "tests/server/warp_twin/warp_twin.h"

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace gcoord::server {
namespace {

using chaos::CountingService;

// In place of HostNode.
class WarpNode {
 public:
  WarpNode(TurnCluster& cluster, std::uint32_t n)
      : node_(cluster.node(n)), clock_(node_, cluster.timing(n)) {
    std::vector<std::function<void()>> bodies;
    for (std::uint32_t stripe = 0; stripe < node_.shape.stripe_count; ++stripe) {
      desks_.push_back(std::make_unique<StripeWorkspace>());
      // As shared memory is when a kernel begins.
      std::memset(static_cast<void*>(desks_.back().get()), 0xa5, sizeof(StripeWorkspace));
      bodies.emplace_back([this, stripe] { work(stripe); });
      if (bodies.size() == node_.shape.block_stripes || stripe + 1 == node_.shape.stripe_count) {
        blocks_.push_back(std::make_unique<twin::Block>(bodies));
        bodies.clear();
      }
    }
    round();
  }

  ~WarpNode() {
    ends_ = true;
    round();
  }

  bool turn(std::uint64_t now_ns) {
    clock_.read(now_ns);
    worked_ = false;
    round();
    return worked_;
  }

 private:
  void work(std::uint32_t number) {
    TurnStripe<CountingService> stripe(node_, number, *desks_[number]);
    twin::rest();
    while (!ends_) {
      worked_ = stripe.turn() || worked_;
      twin::rest();
    }
    stripe.close();
  }

  void round() {
    for (auto& block : blocks_) {
      block->round();
    }
  }

  const chaos::CountingNode& node_;
  NodeClock<CountingService> clock_;
  std::vector<std::unique_ptr<StripeWorkspace>> desks_;
  std::vector<std::unique_ptr<twin::Block>> blocks_;
  bool worked_ = false;
  bool ends_ = false;
};

using WarpWorld = BasicWorld<WarpNode>;

TEST(DeviceTurnOfWarps, FedCommandsAreAppliedEverywhereInOneOrder) {
  TurnClusterOptions options = small_cluster(3);
  options.shape.shard_count = 23;
  options.shape.stripe_count = 3;
  options.shape.block_stripes = 2;
  WarpWorld world(options);
  world.turns(1500);
  EXPECT_EQ(world.led(), 23u);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(world.cluster->feed(n, 4).ok());
  }
  world.turns(600);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ASSERT_TRUE(world.cluster->feed(n, 0).ok());
  }
  world.turns(900);
  EXPECT_GT(agreed_commands(world, {0, 1, 2}), 23u * 50);
  expect_equal_everywhere(world, {0, 1, 2});
  expect_nothing_lost(world);
}

TEST(DeviceTurnOfWarps, OneCommandAtATimeIsDecidedWithoutTheClock) {
  WarpWorld world(one_row(12));
  world.turns(3000);
  const std::uint32_t leads = leader_of_the_row(world);
  ASSERT_TRUE(world.cluster->time_commands(leads, 100'000).ok());
  ASSERT_TRUE(world.cluster->wake(leads).ok());
  world.turns(60);
  world.step_tenths = 0;
  const auto decided = [&] { return world.cluster->node(leads).service.rows[0].count; };
  const std::uint64_t before = decided();
  world.turns(600);
  EXPECT_GT(decided(), before + 90);
  expect_nothing_lost(world);
}

TEST(DeviceTurnOfWarps, WhatAnInboxHasNoPlaceForWaitsForTheNextTurn) {
  for (const std::uint32_t missed : {7u, 8u, 16u, 40u}) {
    SCOPED_TRACE(missed);
    miss_commands_and_carry_on<WarpNode>(missed);
  }
}

// What is pushed together is found by one look: a command of several entries costs as many turns as
// one of a single entry.
TEST(DeviceTurnOfWarps, RequestsThatAreFoundTogetherCostNoMoreTurnsThanOne) {
  WarpWorld world(one_row(12));
  world.turns(3000);
  const std::uint32_t leads = leader_of_the_row(world);
  world.turns(60);
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
      for (std::uint32_t k = 0; k < 60; ++k) {
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
  expect_equal_everywhere(world, {0, 1, 2});
  expect_nothing_lost(world);
}

// The same as TurnDeadlines, by 32 members that bring a row each.
TEST(DeviceTurnOfWarps, AScanFindsEveryRowThatIsDueOnce) {
  for (const std::uint32_t rows : kScannedRows) {
    SCOPED_TRACE(rows);
    DeadlineModel model(rows, 40 + rows);
    DeadlineModel::Turn first = model.turn();  // As the first member knows it.
    bool notes = false;
    bool opens = false;
    bool ends = false;
    twin::Block group({[&] {
      std::optional<DeadlineModel::Turn> turn(model.turn());
      open_scan(*turn);
      twin::rest();
      while (!ends) {
        if (opens) {
          const DeadlineModel::Turn after = model.turn_after(*turn);
          turn.emplace(after);
          open_scan(*turn);
        }
        notes ? model.note(*turn) : DeadlineModel::scan(*turn);
        if (twin::rank() == 0) {
          first.state = turn->state;
        }
        twin::rest();
      }
    }});
    group.round();
    for (std::uint32_t round = 0; round < 400 && !testing::Test::HasFailure(); ++round) {
      model.pass_time();
      notes = false;
      opens = false;
      group.round();
      model.expect_found(first);
      model.step_rows();
      notes = true;
      opens = round % 8 == 0;
      group.round();
    }
    EXPECT_GT(model.found(), 20u);
    ends = true;
    group.round();
  }
}

}  // namespace
}  // namespace gcoord::server
