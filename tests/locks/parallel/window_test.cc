// Windows of commands (lock_plan.h, lock_settle.h) against LockCpu: commands that are decided many
// at once answer, tell and leave exactly what they do one after another.
#include "locks/parallel/window.h"

#include "tests/locks/lock_host_device.h"
#include "tests/locks/lock_parallel_drive.h"
#include "tests/locks/orderly_world.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gcoord::locks {
namespace {

std::unique_ptr<LockParallel> make_locks(std::uint32_t shards) {
  // Every run is a group's, however short.
  auto made = LockParallel::make(std::make_unique<HostLockDevice>(1, 1, 0),
                                 {.shard_count = shards,
                                  .batch_max = 1000,
                                  .events_initial = 1,
                                  .locks_initial = 1,
                                  .sessions_initial = 1,
                                  .requests_initial = 1,
                                  .name_blocks_initial = 1,
                                  .index_seed = 9});
  return std::move(made).value();
}

RC_GTEST_PROP(LockWindow, CommandsDecidedAtOnceAreThoseOfTheCpu, ()) {
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
  run_orderly(make_locks(shape.shards), shape, *rc::gen::arbitrary<std::uint32_t>(), sizes);
  RC_ASSERT(!testing::Test::HasFailure());
}

struct PlannedShape {
  const char* what;
  OrderlyShape shape;
  std::uint32_t planned_percent_least;
};

// What is usual is decided at once, not left to the ordinary way.
TEST(LockWindow, UsualCommandsArePlanned) {
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
    const std::uint32_t count = run_orderly(make_locks(1), planned.shape, 7, sizes);
    ASSERT_FALSE(HasFailure());
    EXPECT_GE(count, 10 * kCommands / 100 * planned.planned_percent_least);
  }
}

}  // namespace
}  // namespace gcoord::locks
