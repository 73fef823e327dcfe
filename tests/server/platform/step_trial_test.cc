#include "server/platform/step_trial.h"

#include "consensus/device/device_stepper.h"
#include "consensus/device/stand_in_device.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using std::chrono::microseconds;

// Every look is `step` after the one before.
TrialTurns::Clock clock_of(microseconds step, std::uint32_t& looks) {
  return [step, &looks] { return std::chrono::nanoseconds{step} * ++looks; };
}

TEST(StepTrial, EndsAfterItsTurnsOrItsTime) {
  std::uint32_t looks = 0;
  TrialTurns turns{.rows = 8, .count = 5, .now = clock_of(microseconds{10}, looks)};
  EXPECT_EQ(time_turn(*consensus::make_cpu_stepper(8, 3), turns).value(), microseconds{10});
  EXPECT_EQ(looks, 6u);
  looks = 0;
  turns.most = microseconds{20};
  EXPECT_EQ(time_turn(*consensus::make_cpu_stepper(8, 3), turns).value(), microseconds{10});
  EXPECT_EQ(looks, 3u);
}

TEST(StepTrial, GivesTheDeviceWhatItGivesTheCpu) {
  auto stepper = consensus::make_device_stepper(std::make_unique<consensus::StandInDevice>(),
                                                {.row_count = 8, .slot_count = 3});
  ASSERT_TRUE(stepper.ok());
  const auto processor = consensus::make_cpu_stepper(8, 3);
  const TrialTurns turns{.rows = 8, .count = 5};
  ASSERT_TRUE(time_turn(*stepper.value(), turns).ok());
  ASSERT_TRUE(time_turn(*processor, turns).ok());
  for (std::uint32_t row = 0; row < 8; ++row) {
    EXPECT_EQ(stepper.value()->columns().log[row].commit, processor->columns().log[row].commit);
    EXPECT_GT(processor->columns().log[row].commit, LogIndex{5});
  }
}

TEST(StepTrial, TellsWhyADeviceFailed) {
  const DeviceFaultPlan plan{.kind = DeviceFaultPlan::Kind::Call, .number = 9};
  auto stepper = consensus::make_device_stepper(std::make_unique<consensus::StandInDevice>(plan),
                                                {.row_count = 8, .slot_count = 3});
  ASSERT_TRUE(stepper.ok());
  EXPECT_FALSE(time_turn(*stepper.value(), {.rows = 8, .count = 5}).ok());
}

}  // namespace
}  // namespace gcoord::server
