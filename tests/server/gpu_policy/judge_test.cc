// What a node decides about its GPU, reading by reading.
#include "server/gpu_policy/judge.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kQuietMs = 10'000;

class GpuJudgeTest : public testing::Test {
 protected:
  std::vector<GpuDecision> look(std::uint64_t now_ms) { return judge_.look(&reading_, now_ms); }

  GpuReading reading_{.uuid = "GPU-a", .facts = {}, .xids = {}};
  GpuJudge judge_{GpuPolicy{}, kQuietMs};
};

TEST_F(GpuJudgeTest, AGpuThatIsWellIsNoDecision) {
  reading_.facts = {
      .ecc_corrected = 5, .ecc_uncorrected = 7, .link_recoveries = 9, .throttle = 0x1};
  EXPECT_TRUE(look(0).empty()) << "what was before the node began is not its";
  EXPECT_TRUE(look(1000).empty());
  EXPECT_FALSE(judge_.drains());
}

TEST_F(GpuJudgeTest, AnXidBeginsOnceAndEndsAfterQuiet) {
  reading_.xids = {{74, 1}};
  const auto begun = look(1000);
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_EQ(begun[0].fault, GpuFault::LinkError);
  EXPECT_EQ(begun[0].action, GpuAction::Drain);
  EXPECT_TRUE(begun[0].begins);
  EXPECT_EQ(begun[0].evidence, "Xid 74");
  EXPECT_TRUE(judge_.drains());
  EXPECT_TRUE(look(2000).empty());
  reading_.xids = {{74, 3}};
  EXPECT_TRUE(look(5000).empty()) << "it lasts";
  EXPECT_TRUE(look(5000 + kQuietMs - 1).empty());
  EXPECT_TRUE(judge_.drains());
  const auto ended = look(5000 + kQuietMs);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_FALSE(ended[0].begins);
  EXPECT_EQ(ended[0].seen, 2u);
  EXPECT_FALSE(judge_.drains());
  EXPECT_EQ(judge_.condition(GpuFault::LinkError), nullptr);
}

TEST_F(GpuJudgeTest, AGpuThatIsLostIsAFatalFault) {
  ASSERT_TRUE(look(0).empty());
  reading_.facts.lost = true;
  const auto begun = look(1000);
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_EQ(begun[0].fault, GpuFault::XidFatal);
  EXPECT_EQ(begun[0].action, GpuAction::Stop);
  EXPECT_TRUE(look(2000).empty()) << "it lasts";
}

TEST_F(GpuJudgeTest, AnXidOfNoClassIsNoDecision) {
  reading_.xids = {{4711, 1}};
  EXPECT_TRUE(look(0).empty());
}

TEST_F(GpuJudgeTest, CountersAreFaultsWhenTheyGrow) {
  reading_.facts = {.ecc_uncorrected = 7, .link_recoveries = 1};
  ASSERT_TRUE(look(0).empty());
  reading_.facts = {.ecc_uncorrected = 9, .link_recoveries = 2};
  const auto begun = look(1000);
  ASSERT_EQ(begun.size(), 2u);
  EXPECT_EQ(begun[0].fault, GpuFault::EccUncorrected);
  EXPECT_EQ(begun[0].action, GpuAction::RestartContext);
  EXPECT_EQ(begun[1].fault, GpuFault::LinkError);
  reading_.facts = {.ecc_uncorrected = 0, .link_recoveries = 0};
  EXPECT_EQ(look(1000 + kQuietMs).size(), 2u) << "the driver was loaded anew: both end";
  reading_.facts = {.ecc_uncorrected = 1, .link_recoveries = 0};
  EXPECT_EQ(look(2000 + kQuietMs).size(), 1u);
}

TEST_F(GpuJudgeTest, CorrectedErrorsAreAFaultByTheirRate) {
  const auto corrected = [this](std::uint64_t count, std::uint64_t now_ms) {
    reading_.facts.ecc_corrected = count;
    return look(now_ms).size();
  };
  EXPECT_EQ(corrected(50, 0), 0u);
  EXPECT_EQ(corrected(50 + kEccCorrectedPerHour - 1, 1000), 0u);
  EXPECT_EQ(corrected(50 + kEccCorrectedPerHour - 1, 3'600'000), 0u) << "another hour";
  EXPECT_EQ(corrected(50 + kEccCorrectedPerHour, 3'601'000), 0u);
  EXPECT_EQ(corrected(50 + 2 * kEccCorrectedPerHour, 3'602'000), 1u);
  EXPECT_NE(judge_.condition(GpuFault::EccCorrectedRate), nullptr);
}

TEST_F(GpuJudgeTest, CorrectedErrorsAtTheEdgeOfAnHourCount) {
  reading_.facts.ecc_corrected = 50;
  ASSERT_TRUE(look(0).empty());
  reading_.facts.ecc_corrected = 50 + kEccCorrectedPerHour;
  EXPECT_EQ(look(3'600'000).size(), 1u) << "grown within the hour, seen at its end";
}

TEST_F(GpuJudgeTest, HeatLastsUntilItWasNotSeenForAWhile) {
  reading_.facts.throttle = kThrottleHeat;
  EXPECT_EQ(look(0).size(), 1u);
  reading_.facts.throttle = 0;
  EXPECT_TRUE(look(1000).empty());
  reading_.facts.throttle = kThrottleHeatBySoftware;
  EXPECT_TRUE(look(kQuietMs - 1).empty()) << "the same fault";
  reading_.facts.throttle = kThrottlePowerCap;
  EXPECT_TRUE(look(kQuietMs + 1).empty());
  EXPECT_EQ(look(2 * kQuietMs - 1).size(), 1u);
}

TEST_F(GpuJudgeTest, ADriverThatHangsIsAFaultUntilItAnswers) {
  ASSERT_TRUE(look(0).empty());
  const auto begun = judge_.look(nullptr, 31'000);
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_EQ(begun[0].fault, GpuFault::Hung);
  EXPECT_TRUE(judge_.drains());
  EXPECT_TRUE(judge_.look(nullptr, 90'000).empty());
  EXPECT_TRUE(look(91'000).empty());
  EXPECT_EQ(look(90'000 + kQuietMs).size(), 1u);
  EXPECT_FALSE(judge_.drains());
}

TEST_F(GpuJudgeTest, DrainsByPolicyAlone) {
  GpuPolicy policy;
  policy.actions.fill(GpuAction::Log);
  GpuJudge judge(policy, kQuietMs);
  reading_.xids = {{79, 1}, {74, 1}, {48, 1}};
  EXPECT_EQ(judge.look(&reading_, 0).size(), 3u);
  EXPECT_FALSE(judge.drains());
}

TEST(ContextRestarts, TooManyWithinAnHourAreNotTaken) {
  ContextRestarts restarts;
  for (std::size_t k = 0; k < ContextRestarts::kMost; ++k) {
    EXPECT_TRUE(restarts.may_restart(k * 1000));
  }
  EXPECT_FALSE(restarts.may_restart(10'000));
  EXPECT_FALSE(restarts.may_restart(ContextRestarts::kWithinMs - 1));
  EXPECT_TRUE(restarts.may_restart(ContextRestarts::kWithinMs));
  EXPECT_FALSE(restarts.may_restart(ContextRestarts::kWithinMs));
}

}  // namespace
}  // namespace gcoord::server
