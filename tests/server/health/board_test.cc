#include "server/health/board.h"

#include "server/health/pages.h"

#include <gtest/gtest.h>

#include <chrono>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kSecond = 1'000'000;
const std::uint64_t kLimit = std::chrono::microseconds(kTurnLimit).count();

class HealthTest : public testing::Test {
 protected:
  std::uint64_t now_us_ = 7 * kSecond;
  HealthBoard board_{[this] { return now_us_; }};
};

TEST_F(HealthTest, BeforeAnyCheckANodeLivesAndIsNotReady) {
  const HealthReport report = board_.report();
  EXPECT_TRUE(report.live);
  EXPECT_FALSE(report.ready);
  const HttpAnswer answer = readyz_page(report, {});
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "starting\n");
}

TEST_F(HealthTest, EveryRequiredCheckMakesReadiness) {
  board_.set_checks({{"serves", true}, {"majority", false, "not heard: node 2"}});
  EXPECT_FALSE(board_.report().ready);
  EXPECT_EQ(readyz_page(board_.report(), {}).body, "majority: not heard: node 2\n");
  board_.set_checks({{"serves", true}, {"majority", true}});
  EXPECT_TRUE(board_.report().ready);
  EXPECT_EQ(readyz_page(board_.report(), {}).status, 200);
  EXPECT_EQ(readyz_page(board_.report(), {}).body, "ok\n");
}

TEST_F(HealthTest, AWarningLeavesANodeReadyAndIsShown) {
  board_.set_checks({{"serves", true}, {"ledger", false, "does not sign", false}});
  const HealthReport report = board_.report();
  EXPECT_TRUE(report.ready);
  EXPECT_EQ(readyz_page(report, {}).body, "ok\n");
  EXPECT_EQ(
      readyz_page(report, {.path = "/readyz", .arguments = {{"verbose", ""}}}).body,
      R"({"live":true,"ready":true,"checks":[{"name":"turns","ok":true,"required":true,"detail":""},)"
      R"({"name":"serves","ok":true,"required":true,"detail":""},)"
      R"({"name":"ledger","ok":false,"required":false,"detail":"does not sign"}]})"
      "\n");
}

TEST_F(HealthTest, ALoopThatStandsStillIsNeitherLiveNorReadyWhateverItSaidLast) {
  board_.set_checks({{"serves", true}});
  now_us_ += kLimit;
  EXPECT_TRUE(board_.report().ready);
  now_us_ += 1000;
  EXPECT_FALSE(board_.report().live);
  EXPECT_FALSE(board_.report().ready);
  EXPECT_EQ(livez_page(board_.report(), {}).status, 503);
  EXPECT_EQ(livez_page(board_.report(), {}).body, "turns: the loop has not turned for 10001 ms\n");
  board_.on_turn(now_us_);
  EXPECT_TRUE(board_.report().ready);
}

TEST_F(HealthTest, LivenessAsksForNothingButTheLoop) {
  board_.set_checks({{"majority", false, "alone"}});
  EXPECT_EQ(livez_page(board_.report(), {}).status, 200);
  EXPECT_EQ(livez_page(board_.report(), {}).body, "ok\n");
}

}  // namespace
}  // namespace gcoord::server
