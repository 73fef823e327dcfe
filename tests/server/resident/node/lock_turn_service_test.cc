// The lock service of a device's turn against LockCpu: the same entries of many shards give the
// same code and the same hash of the shard's state after each, whichever stripe, thread and turn
// applies them, and on a GPU where there is one.
#include "server/resident/node/lock_turn_service.h"

#include "bench/lock_turn/apply.h"
#include "bench/lock_turn/device.h"
#include "bench/lock_turn/plan.h"
#include "bench/lock_turn/rows.h"
#include "common/tables/column_arena.h"
#include "tests/locks/random_world.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <thread>
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

// The host's twin of the GPU's tables: a group has one member, and threads share the stripes.
class TwinLockTurn final : public LockTurnDevice {
 public:
  TwinLockTurn(const LockTurnPlan& plan, std::uint32_t thread_count)
      : arena_(bench::lock_turn_bytes_of(plan)), thread_count_(thread_count) {
    abort_ = arena_.column<std::uint64_t>(1);
    CarvedLocks carved = carve_lock_turn(arena_, plan.shape, plan.sizes, 9, abort_);
    std::copy(carved.stripes.begin(), carved.stripes.end(), carved.service.stripes);
    work_.service = carved.service;
    work_.stripe_count = plan.shape.stripe_count;
    work_.row_count = plan.shape.shard_count;
  }

  Status prepare(const LockTurnRows& rows) override {
    done_.assign(work_.row_count, 0);
    results_.assign(rows.entries().size(), TurnResult{});
    work_.entries = rows.entries().data();
    work_.first = rows.first().data();
    work_.base = rows.base().data();
    work_.done = done_.data();
    work_.results = results_.data();
    return {};
  }

  Status apply() override {
    std::vector<std::jthread> threads;
    for (std::uint32_t k = 0; k < thread_count_; ++k) {
      threads.emplace_back([this, k] {
        for (std::uint32_t stripe = k; stripe < work_.stripe_count; stripe += thread_count_) {
          bench::apply_stripe(work_, stripe);
        }
      });
    }
    threads.clear();
    return *abort_ == 0 ? Status{} : Status{StatusCode::ResourceExhausted, "no free rows"};
  }

  Result<std::vector<TurnResult>> results() override { return results_; }

  std::size_t table_bytes() const override { return arena_.used_bytes(); }

  const LockStripe& stripe(std::uint32_t number) const { return work_.service.stripes[number]; }

 private:
  ColumnArena arena_;
  std::uint32_t thread_count_;
  std::uint64_t* abort_ = nullptr;
  bench::LockTurnWork work_;
  std::vector<std::uint32_t> done_;
  std::vector<TurnResult> results_;
};

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
    TwinLockTurn twin(plan_of(shape), 1);
    ASSERT_NO_FATAL_FAILURE(run_parity(twin, shape));
  }
}

TEST(LockTurnService, StripesOfSeveralThreadsChangeNothing) {
  const ParityShape shape{
      .world = {.shard_count = 64, .hot_percent = 5, .seed = 6}, .stripes = 8, .batch_max = 2000};
  TwinLockTurn twin(plan_of(shape), 4);
  ASSERT_NO_FATAL_FAILURE(run_parity(twin, shape));
}

// What was claimed and not taken, and what commands gave up, is free again in the end.
TEST(LockTurnService, RowsComeBackToTheirPools) {
  const ParityShape shape{.world = {.shard_count = 4, .names = 3, .seed = 7}};
  const LockTurnPlan plan = plan_of(shape);
  TwinLockTurn twin(plan, 1);
  ASSERT_NO_FATAL_FAILURE(run_parity(twin, shape));
  const locks::LockPoolTops& ends = twin.stripe(0).ends;
  // Names, sessions and their kept replies are few; all that is lent besides would be a leak.
  EXPECT_GT(ends.locks.available(), plan.sizes.locks - 200);
  EXPECT_GT(ends.sessions.available(), plan.sizes.sessions - 100);
}

// A stripe that is dry for good stops its node and does not turn for ever.
TEST(LockTurnService, AStripeWithoutFreeRowsStopsItsNode) {
  LockTurnPlan plan{.shape = {.shard_count = 1},
                    .sizes = {.locks = 2, .sessions = 16, .requests = 64, .name_blocks = 64}};
  TwinLockTurn twin(plan, 1);
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
}

}  // namespace
}  // namespace gcoord::server
