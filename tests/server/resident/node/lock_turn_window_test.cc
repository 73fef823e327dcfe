// Windows of lock commands (locks/parallel/apply.h) against LockCpu and against one member that
// applies the same entries: commands that a group decides at once answer and leave exactly what
// they do one after another.
#include "locks/parallel/apply.h"
#include "tests/locks/orderly_world.h"
#include "tests/server/resident/node/twin_lock_turn.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using locks::LockCode;
using locks::LockReply;
using locks::OrderlyShape;
using locks::OrderlyWorld;

bench::LockTurnPlan plan_of(std::uint32_t shards, std::uint32_t stripes) {
  return {.shape = {.shard_count = shards, .stripe_count = stripes},
          .sizes = {.locks = 4096, .sessions = 4096, .requests = 16384, .name_blocks = 32768}};
}

LockCode code_of(const TurnResult& result) {
  return static_cast<LockCode>(result.word[1] >> 8 & 0xff);
}

// What the world answered to a command, and the hash of its shard then.
struct Wanted {
  LockReply reply;
  std::uint64_t hash = 0;
};

// Gives batches of these sizes to both and compares answers, hashes and whole states. Returns how
// many commands windows decided.
std::uint64_t run_orderly(const OrderlyShape& shape,
                          std::uint64_t seed,
                          const std::vector<std::uint32_t>& sizes) {
  TwinLockTurn twin(plan_of(shape.shards, 1), 1, 1);  // Every row is its group's.
  OrderlyWorld world(shape, seed);
  bench::LockTurnRows rows(shape.shards);
  std::vector<std::uint64_t> last(shape.shards);
  for (const std::uint32_t size : sizes) {
    std::vector<Wanted> wanted;
    for (std::uint32_t i = 0; i < size; ++i) {
      const auto [shard, command] = world.next();
      last[shard.value] += locks::entries_of(command).size();
      rows.add(shard, command);
      const LockReply reply = world.apply(shard, LogIndex{last[shard.value]}, command);
      wanted.push_back({reply, world.cpu().state_hash(shard)});
    }
    rows.seal();
    EXPECT_TRUE(twin.prepare(rows).ok());
    EXPECT_TRUE(twin.apply().ok());
    const auto results = twin.results();
    for (std::uint32_t i = 0; i < size; ++i) {
      const TurnResult& result = results.value()[rows.places()[i].at];
      EXPECT_EQ(done_of(result), LockTurnDone::Applied) << "command " << i;
      EXPECT_EQ(code_of(result), wanted[i].reply.code) << "command " << i;
      EXPECT_EQ(result.word[0], wanted[i].hash) << "command " << i;
      if (testing::Test::HasFailure()) {
        return 0;
      }
    }
    for (std::uint32_t shard = 0; shard < shape.shards; ++shard) {
      EXPECT_EQ(twin.snapshot(ShardId{shard}), world.cpu().serialize(ShardId{shard}));
    }
  }
  return twin.decided_in_windows();
}

RC_GTEST_PROP(LockTurnWindow, CommandsDecidedAtOnceAreThoseOfTheCpu, ()) {
  const auto up_to = [](std::uint32_t most) { return rc::gen::inRange(0u, most + 1); };
  const auto percent = rc::gen::element(0u, 2u, 10u, 50u, 90u, 100u);
  const OrderlyShape shape{.shards = 1 + *up_to(1),
                           .sessions = 1 + *up_to(19),
                           .names = 1 + *up_to(12),
                           .release_percent = *percent,
                           .wait_percent = *percent,
                           .unacked_max = *rc::gen::element(0u, 1u, 5u, 30u, 100u),
                           .by_token_percent = *rc::gen::element(0u, 0u, 20u),
                           .odd_percent = *rc::gen::element(0u, 1u, 10u)};
  const auto sizes = *rc::gen::container<std::vector<std::uint32_t>>(
      rc::gen::map(up_to(300), [](std::uint32_t size) { return size + 1; }));
  run_orderly(shape, *rc::gen::arbitrary<std::uint32_t>(), sizes);
  RC_ASSERT(!testing::Test::HasFailure());
}

struct PlannedShape {
  const char* what;
  OrderlyShape shape;
  std::uint32_t planned_percent_least;
};

// What is usual is decided at once, not left to one member.
TEST(LockTurnWindow, UsualCommandsAreDecidedInWindows) {
  constexpr std::uint32_t kCommands = 1000;
  constexpr PlannedShape kShapes[] = {
      {"one client takes and releases",
       {.sessions = 1, .names = 1, .release_percent = 100, .unacked_max = 0, .odd_percent = 0},
       97},
      {"clients take turns",
       {.sessions = 16, .names = 1, .release_percent = 100, .unacked_max = 0, .odd_percent = 0},
       97},
      {"clients wait for one lock",
       {.sessions = 200, .names = 1, .wait_percent = 100, .by_token_percent = 0, .odd_percent = 0},
       70},
      {"clients try one lock", {.wait_percent = 0, .odd_percent = 0}, 95},
  };
  for (const PlannedShape& planned : kShapes) {
    SCOPED_TRACE(planned.what);
    const std::vector<std::uint32_t> sizes(10, kCommands);
    const std::uint64_t count = run_orderly(planned.shape, 7, sizes);
    ASSERT_FALSE(HasFailure());
    EXPECT_GE(count, 10 * kCommands / 100 * planned.planned_percent_least);
  }
}

// Acquires and releases of names that are drawn by Zipf's law (exponent 0.99), each name's in turn,
// by sessions that have each answer before they go on: the load of ./gcoord bench locks.
class ZipfWorld {
 public:
  static constexpr std::uint32_t kShards = 16;
  static constexpr std::uint32_t kNames = 1000;
  static constexpr std::uint32_t kSessions = 16;

  explicit ZipfWorld(std::uint64_t seed) : seed_(seed) {
    double sum = 0;
    for (std::uint32_t rank = 1; rank <= kNames; ++rank) {
      sum += std::pow(rank, -0.99);
      sums_.push_back(sum);
    }
  }

  void add_sessions(bench::LockTurnRows& rows) {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      for (std::uint32_t session = 1; session <= kSessions; ++session) {
        rows.add(ShardId{shard}, locks::make_register_session(SessionId{session}, 1000));
      }
    }
  }

  void add(bench::LockTurnRows& rows, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      add_one(rows);
    }
  }

 private:
  std::uint64_t random() { return random64(seed_, 1, ++counter_); }

  void add_one(bench::LockTurnRows& rows) {
    const double drawn = static_cast<double>(random() >> 11) * 0x1p-53 * sums_.back();
    const auto number = static_cast<std::size_t>(
        std::lower_bound(sums_.begin(), sums_.end(), drawn) - sums_.begin());
    const std::string name = "accounts/by-number/" + std::to_string(number);
    const ShardId shard = shard_of(hash_name(name), kShards);
    const bool takes = tokens_[number] == 0;
    if (takes) {
      holders_[number] = SessionId{1 + random_below(random(), kSessions)};
    }
    const SessionId session = holders_[number];
    const RequestSequence sequence{++sequences_[shard.value][session.value - 1]};
    if (takes) {
      tokens_[number] = ++token_last_[shard.value];
      rows.add(shard,
               locks::make_acquire({.session = session,
                                    .sequence = sequence,
                                    .acked_below = sequence,
                                    .name = name,
                                    .wait = true}));
      return;
    }
    rows.add(shard,
             locks::make_release({.session = session,
                                  .sequence = sequence,
                                  .acked_below = sequence,
                                  .name_hash = hash_name(name),
                                  .token = FencingToken{tokens_[number]}}));
    tokens_[number] = 0;
  }

  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
  std::vector<double> sums_;
  std::array<std::uint64_t, kNames> tokens_{};  // 0: nobody has it.
  std::array<SessionId, kNames> holders_{};
  std::array<std::uint64_t, kShards> token_last_{};
  std::array<std::array<std::uint64_t, kSessions>, kShards> sequences_{};
};

// Of what is told of an entry, all but how much room is left: a group claims less at a time.
std::pair<std::uint64_t, std::uint64_t> said(const TurnResult& result) {
  return {result.word[0], result.word[1] & 0xffff'ffffu};
}

// Entry by entry, pieces of names too, and then the states.
TEST(LockTurnWindow, ZipfLoadsAreThoseOfOneMember) {
  constexpr std::uint32_t kCommands = 20'000;
  TwinLockTurn alone(plan_of(ZipfWorld::kShards, 4), 1, bench::kNeverTogether);
  TwinLockTurn together(plan_of(ZipfWorld::kShards, 4), 1, 1);
  TwinLockTurn usual(plan_of(ZipfWorld::kShards, 4));  // Rows change between both ways.
  const std::array<TwinLockTurn*, 3> twins{&alone, &together, &usual};
  ZipfWorld world(11);
  bench::LockTurnRows rows(ZipfWorld::kShards);
  world.add_sessions(rows);
  for (std::uint32_t batch = 0; batch < 5; ++batch) {
    world.add(rows, kCommands);
    rows.seal();
    std::array<std::vector<TurnResult>, 3> results;
    for (std::size_t k = 0; k < twins.size(); ++k) {
      ASSERT_TRUE(twins[k]->prepare(rows).ok());
      ASSERT_TRUE(twins[k]->apply().ok());
      results[k] = twins[k]->results().value();
    }
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      ASSERT_EQ(said(results[1][i]), said(results[0][i])) << "batch " << batch << " entry " << i;
      ASSERT_EQ(said(results[2][i]), said(results[0][i])) << "batch " << batch << " entry " << i;
    }
    for (std::uint32_t shard = 0; shard < ZipfWorld::kShards; ++shard) {
      ASSERT_EQ(together.snapshot(ShardId{shard}), alone.snapshot(ShardId{shard}));
      ASSERT_EQ(usual.snapshot(ShardId{shard}), alone.snapshot(ShardId{shard}));
    }
  }
  EXPECT_EQ(alone.decided_in_windows(), 0u);
  EXPECT_GT(together.decided_in_windows(), 5 * kCommands / 100 * 97);
  EXPECT_GT(usual.decided_in_windows(), 5 * kCommands / 2);
}

}  // namespace
}  // namespace gcoord::server
