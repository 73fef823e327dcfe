#include "cli/bench/load/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>

namespace gcoord::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(ScheduleTest, OperationsAreDueInEqualStepsFromTheStartOn) {
  const Schedule schedule(200, seconds{2});
  EXPECT_EQ(schedule.count(), 400u);
  EXPECT_EQ(schedule.due_at(0), nanoseconds{0});
  EXPECT_EQ(schedule.due_at(1), milliseconds{5});
  EXPECT_EQ(schedule.due_at(399), milliseconds{1995});
}

TEST(ScheduleTest, AfterAStallEverythingThatWasDueMeanwhileIsDue) {
  const Schedule schedule(1000, seconds{10});
  EXPECT_EQ(schedule.due_by(milliseconds{0}), 1u);
  EXPECT_EQ(schedule.due_by(milliseconds{4} - nanoseconds{1}), 4u);
  EXPECT_EQ(schedule.due_by(milliseconds{4}), 5u);
  EXPECT_EQ(schedule.due_by(seconds{3}), 3001u);
  EXPECT_EQ(schedule.due_by(seconds{99}), 10'000u);
  EXPECT_EQ(schedule.due_by(nanoseconds{-1}), 0u);
}

TEST(ScheduleTest, AShortRunHasOneOperation) {
  EXPECT_EQ(Schedule(1, milliseconds{1}).count(), 1u);
}

TEST(ScheduleTest, ADayAtTheHighestRateFits) {
  const Schedule schedule(1'000'000, std::chrono::hours{24});
  EXPECT_EQ(schedule.count(), 86'400'000'000u);
  EXPECT_EQ(schedule.due_at(schedule.count() - 1),
            nanoseconds{std::chrono::hours{24}} - std::chrono::microseconds{1});
}

RC_GTEST_PROP(ScheduleProperty, AnOperationIsDueFromItsTimeOn, ()) {
  const auto rate = *rc::gen::inRange<std::uint32_t>(1, 1'000'001);
  const Schedule schedule(rate, seconds{20});
  const auto number = *rc::gen::inRange<std::uint64_t>(0, schedule.count());
  const nanoseconds at = schedule.due_at(number);
  RC_ASSERT(schedule.due_by(at) > number);
  RC_ASSERT(schedule.due_by(at - nanoseconds{1}) <= number);
}

RC_GTEST_PROP(ScheduleProperty, TheSharesOfAllThreadsAreTheSchedule, ()) {
  const auto threads = *rc::gen::inRange<std::uint32_t>(1, 9);
  const auto due = *rc::gen::inRange<std::uint64_t>(0, 1000);
  std::uint64_t sum = 0;
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    const ScheduleShare share{thread, threads};
    const std::uint64_t of = share.of(due);
    sum += of;
    RC_ASSERT(of == 0 || share.number(of - 1) < due);
    RC_ASSERT(share.number(of) >= due);
  }
  RC_ASSERT(sum == due);
}

}  // namespace
}  // namespace gcoord::cli
