#include "chaos/demo/demo_summary.h"

#include <gtest/gtest.h>

namespace gcoord::chaos {
namespace {

TEST(DemoSummary, CountsWhatWasAcknowledgedOnly) {
  std::vector<Operation> history;
  for (std::uint64_t token = 1; token <= 100; ++token) {
    history.push_back({.op = Op::Acquire,
                       .kind = token % 2 == 0 ? AcquireKind::Lock : AcquireKind::Wait,
                       .key = "a",
                       .token = token,
                       .call_ns = 0,
                       .return_ns = token * 1'000'000});
  }
  history.push_back({.op = Op::Release, .outcome = Outcome::Unknown, .key = "a"});
  history.push_back({.op = Op::Release, .key = "a", .token = 3});
  history.push_back({.op = Op::Abandon, .key = "a", .token = 7});
  history.push_back({.op = Op::Abandon, .key = "a", .token = 100});
  DemoResult result;
  result.load.seconds = 2;
  summarize_history(history, result);
  EXPECT_EQ(result.load.grants, 100u);
  EXPECT_EQ(result.load.waited_grants, 50u);
  EXPECT_EQ(result.load.releases, 1u);
  EXPECT_EQ(result.load.unknown, 1u);
  EXPECT_EQ(result.load.expiries, 1u) << "nobody got the lock after the second abandonment";
  EXPECT_DOUBLE_EQ(result.load.commits_per_s, 51.0);
  EXPECT_DOUBLE_EQ(result.load.acquire_p50_ms, 50.0);
  EXPECT_DOUBLE_EQ(result.load.acquire_p99_ms, 100.0);
}

TEST(DemoSummary, AnEmptyHistoryHasNoFigures) {
  DemoResult result;
  result.load.seconds = 1;
  summarize_history({}, result);
  EXPECT_EQ(result.load.acquire_p99_ms, 0);
  EXPECT_EQ(result.load.commits_per_s, 0);
}

TEST(DemoSummary, TheObjectHasTheFieldsThatScriptsRead) {
  const auto json = to_json(DemoResult{});
  for (const char* field : {"nodes",
                            "shards",
                            "stepper",
                            "tls",
                            "commits_per_s",
                            "acquire_p50_ms",
                            "acquire_p99_ms",
                            "failover_ms",
                            "double_grants",
                            "lost_acks",
                            "roots_agree"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
}

TEST(DemoSummary, AFaultIsInTheCheckedLine) {
  DemoResult result;
  EXPECT_NE(to_text(result).find("every check held"), std::string::npos);
  result.first_fault = "two held it at once";
  EXPECT_NE(to_text(result).find("FAILED: two held it at once"), std::string::npos);
}

}  // namespace
}  // namespace gcoord::chaos
