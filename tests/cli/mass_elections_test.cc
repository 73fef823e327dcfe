// Many elections of real processes at once: what `./gcoord bench elections` measures, and that it
// ends. How long it takes is a figure, not a test (docs/reference/performance.md).
#include "tests/cli/programs.h"

namespace gcoord::cli {
namespace {

TEST(MassElections, E10AllNamesHaveLeadersAgainAfterAKilledClientAndAKilledNode) {
  const ScratchFolder directory;
  const Finished ended = run("gcoord-bench",
                             {"elections",
                              "--names",
                              "3000",
                              "--shards",
                              "64",
                              "--runs",
                              "1",
                              "--json",
                              "--no-keep",
                              "--directory",
                              directory.path().string()});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto result = nlohmann::json::parse(ended.out, nullptr, false);
  ASSERT_FALSE(result.is_discarded()) << ended.out;
  const nlohmann::json& only = result["runs"].at(0);
  EXPECT_EQ(only["client_killed"]["count"], 1000) << "elections that the killed process led";
  EXPECT_EQ(only["node_killed"]["count"], 2000) << "leaders that were left to ask";
}

}  // namespace
}  // namespace gcoord::cli
