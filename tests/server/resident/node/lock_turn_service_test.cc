// The lock service of a device's turn against LockCpu: the same entries of many shards give the
// same code and the same hash of the shard's state after each, whichever stripe, thread and turn
// applies them, and on a GPU where there is one.
#include "server/resident/node/lock_turn_service.h"

#include "bench/lock_turn/device.h"
#include "bench/lock_turn/plan.h"
#include "bench/lock_turn/rows.h"
#include "tests/locks/random_world.h"
#include "tests/server/resident/node/twin_lock_turn.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using bench::LockTurnDevice;
using bench::LockTurnPlan;
using bench::LockTurnRows;
using locks::LockCode;
using locks::LockReply;
using locks::RandomWorld;
using locks::WorldOptions;

struct ParityShape {
  WorldOptions world;
  std::uint32_t stripes = 1;
  std::uint32_t batches = 15;
  std::uint32_t batch_max = 500;
};

LockTurnPlan plan_of(const ParityShape& shape) {
  return {.shape = {.shard_count = shape.world.shard_count, .stripe_count = shape.stripes},
          .sizes = {.locks = 8192, .sessions = 8192, .requests = 16384, .name_blocks = 65536}};
}

void run_parity(LockTurnDevice& device, const ParityShape& shape) {
  RandomWorld world(shape.world);
  LockTurnRows rows(shape.world.shard_count);
  std::uint32_t granted = 0;
  std::vector<std::uint64_t> next(shape.world.shard_count, 1);  // Indexes of entries, by shard.
  for (std::uint32_t batch = 0; batch < shape.batches; ++batch) {
    const std::uint32_t count =
        1 + random_below(random64(shape.world.seed, 2, batch), shape.batch_max);
    std::vector<std::pair<ShardId, LockReply>> wanted;
    std::vector<std::uint64_t> hashes;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto [shard, command] = world.next();
      next[shard.value] += locks::entries_of(command).size();
      rows.add(shard, command);
      const LogIndex index{next[shard.value] - 1};
      wanted.emplace_back(shard, world.apply(shard, index, command));
      hashes.push_back(world.cpu().state_hash(shard));
    }
    rows.seal();
    ASSERT_TRUE(device.prepare(rows).ok());
    const Status applied = device.apply();
    ASSERT_TRUE(applied.ok()) << applied.to_string();
    const auto results = device.results();
    ASSERT_TRUE(results.ok());
    for (std::uint32_t i = 0; i < count; ++i) {
      const TurnResult& result = results.value()[rows.places()[i].at];
      ASSERT_EQ(done_of(result), LockTurnDone::Applied) << "batch " << batch << " command " << i;
      ASSERT_EQ(static_cast<LockCode>(result.word[1] >> 8 & 0xff), wanted[i].second.code)
          << "batch " << batch << " command " << i;
      ASSERT_EQ(result.word[0], hashes[i]) << "batch " << batch << " command " << i;
      granted += wanted[i].second.code == LockCode::Granted ? 1 : 0;
    }
  }
  EXPECT_GT(granted, shape.batches);  // The world is one in which something happens.
}

constexpr std::array<ParityShape, 4> kShapes = {{
    {.world = {.shard_count = 8, .hot_percent = 30, .seed = 1}, .stripes = 2},
    {.world = {.shard_count = 1, .names = 40, .seed = 2}},
    {.world = {.shard_count = 500, .hot_percent = 5, .seed = 3}, .stripes = 16},
    {.world = {.shard_count = 3, .hot_percent = 90, .names = 2, .seed = 4}, .batch_max = 3000},
}};

TEST(LockTurnService, AnswersAndStateAreThoseOfTheCpu) {
  for (const ParityShape& shape : kShapes) {
    TwinLockTurn twin(plan_of(shape));
    ASSERT_NO_FATAL_FAILURE(run_parity(twin, shape));
  }
}

// The same with every row decided by its group, in windows and by one member where those are cut.
TEST(LockTurnService, AnswersAndStateOfGroupsAreThoseOfTheCpu) {
  for (const ParityShape& shape : kShapes) {
    TwinLockTurn twin(plan_of(shape), 1, 1);
    ASSERT_NO_FATAL_FAILURE(run_parity(twin, shape));
    EXPECT_GT(twin.decided_in_windows(), 0u);
  }
}

TEST(LockTurnService, StripesOfSeveralThreadsChangeNothing) {
  const ParityShape shape{
      .world = {.shard_count = 64, .hot_percent = 5, .seed = 6}, .stripes = 8, .batch_max = 2000};
  TwinLockTurn twin(plan_of(shape), 4);
  ASSERT_NO_FATAL_FAILURE(run_parity(twin, shape));
  TwinLockTurn groups(plan_of(shape), 4, 1);
  ASSERT_NO_FATAL_FAILURE(run_parity(groups, shape));
}

// What was claimed and not taken, and what commands gave up, is free again in the end.
TEST(LockTurnService, RowsComeBackToTheirPools) {
  const ParityShape shape{.world = {.shard_count = 4, .names = 3, .seed = 7}};
  const LockTurnPlan plan = plan_of(shape);
  for (const std::uint32_t together : {bench::kNeverTogether, 1u}) {
    TwinLockTurn twin(plan, 1, together);
    ASSERT_NO_FATAL_FAILURE(run_parity(twin, shape));
    const locks::LockPoolTops& ends = twin.stripe(0).ends;
    // Names, sessions and their kept replies are few; all that is lent besides would be a leak.
    EXPECT_GT(ends.locks.available(), plan.sizes.locks - 200);
    EXPECT_GT(ends.sessions.available(), plan.sizes.sessions - 100);
  }
}

// A stripe that is dry for good stops its node and does not turn for ever.
TEST(LockTurnService, AStripeWithoutFreeRowsStopsItsNode) {
  LockTurnPlan plan{.shape = {.shard_count = 1},
                    .sizes = {.locks = 2, .sessions = 16, .requests = 64, .name_blocks = 64}};
  for (const std::uint32_t together : {bench::kNeverTogether, 1u}) {
    TwinLockTurn twin(plan, 1, together);
    LockTurnRows rows(1);
    for (std::uint64_t k = 1; k <= 3; ++k) {
      const std::string name(1, static_cast<char>('a' + k));
      rows.add(ShardId{0},
               locks::make_acquire({.session = SessionId{1},
                                    .sequence = RequestSequence{k},
                                    .acked_below = RequestSequence{k},
                                    .name = name,
                                    .ttl_ms = 1000}));
    }
    rows.seal();
    ASSERT_TRUE(twin.prepare(rows).ok());
    EXPECT_EQ(twin.apply().code(), StatusCode::ResourceExhausted);
  }
}

TEST(LockTurnServiceOnDevice, AnswersAndStateAreThoseOfTheCpu) {
  std::vector<ParityShape> shapes(kShapes.begin(), kShapes.end());
  shapes.push_back({.world = {.shard_count = 4096, .hot_percent = 10, .seed = 5},
                    .stripes = 256,
                    .batches = 6,
                    .batch_max = 60'000});
  for (const ParityShape& shape : shapes) {
    auto device = bench::open_lock_turn_device(0, plan_of(shape));
    if (!device.ok() && device.status().code() == StatusCode::Unavailable) {
      GTEST_SKIP() << "skipped: " << device.status().message();
    }
    ASSERT_TRUE(device.ok()) << device.status().message();
    ASSERT_NO_FATAL_FAILURE(run_parity(*device.value(), shape));
  }
  for (const ParityShape& shape : shapes) {
    auto device = bench::open_lock_turn_device(0, plan_of(shape));
    ASSERT_TRUE(device.ok()) << device.status().message();
    device.value()->apply_together(1);
    ASSERT_NO_FATAL_FAILURE(run_parity(*device.value(), shape));
  }
}

}  // namespace
}  // namespace gcoord::server
