// L4 with real durable nodes: what `./gcoord bench waiters` measures, and that it is exact. How
// long a hand-over takes is a figure, not a test (docs/reference/performance.md).
#include "tests/cli/programs.h"

namespace gcoord::cli {
namespace {

TEST(LongQueueProcessTest, L4EachReleaseWakesTheFirstOfThousandsAndNobodyElse) {
  const ScratchFolder directory;
  const Finished ended = run("gcoord-bench",
                             {"waiters",
                              "--waiters",
                              "2000",
                              "--runs",
                              "1",
                              "--json",
                              "--no-keep",
                              "--directory",
                              directory.path().string()});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto result = nlohmann::json::parse(ended.out, nullptr, false);
  ASSERT_FALSE(result.is_discarded()) << ended.out;
  ASSERT_EQ(result["runs"].size(), 3u);
  const nlohmann::json& longest = result["runs"][2];
  EXPECT_EQ(longest["waiters"], 2000);
  EXPECT_EQ(longest["grants"], 1000);
  EXPECT_EQ(longest["out_of_order"], 0);
  EXPECT_EQ(longest["waiters_left"], 1000);
}

}  // namespace
}  // namespace gcoord::cli
